"""A fit that fails leaves no trace: the estimator is as it was before."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

AnyFit = TypeVar("AnyFit", bound=Callable[..., Any])


def fit_or_restore(fit: AnyFit) -> AnyFit:
    """Return a method that restores all attributes of its object if it raises.

    Otherwise new rows would be judged by half of a new fit and half of an old one.

    Examples
    --------
    >>> class Mean:
    ...     @fit_or_restore
    ...     def fit(self, values):
    ...         self.n_ = len(values)
    ...         self.mean_ = sum(values) / self.n_
    >>> mean = Mean()
    >>> mean.fit([1.0, 3.0])
    >>> try:
    ...     mean.fit([])
    ... except ZeroDivisionError:
    ...     print(mean.n_, mean.mean_)
    2 2.0
    """

    @wraps(fit)
    def whole(self: Any, *args: Any, **options: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return fit(self, *args, **options)
        except BaseException:  # Ctrl-C among them
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return cast(AnyFit, whole)
