"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (v) => v.toLocaleString("en", { maximumSignificantDigits: 4 });
  const count = (v) => v.toLocaleString("en");
  const percent = (v) => `${v < 0.01 ? (100 * v).toFixed(2) : Math.round(100 * v)}%`;
  const pValue = (p) => (p < 1e-99 ? "< 1e-99" : p < 1e-3 ? p.toExponential(1) : p.toPrecision(2));
  // All digits of a weight such as 1e-67 would be printed over the next column.
  const weightText = (v) => (v < 1e-3 ? "< 0.001" : number(v));
  // Cells enter the page as text only, never as markup.
  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const redraws = [];
  const redraw = () => redraws.forEach((draw) => draw());

  by("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const isDark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    redraw();
  });
  addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Round ticks: 1, 2 or 5 times a power of ten, or steps of one of these.
  const ticks = ([low, high], isLog) => {
    if (!(high > low)) return [low];
    const found = [];
    if (isLog) {
      for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++)
        found.push(...[1, 2, 5].map((m) => m * 10 ** e).filter((v) => v >= low && v <= high));
      const tens = found.filter((v) => Number.isInteger(Math.round(1e9 * Math.log10(v)) / 1e9));
      return tens.length > 2 ? tens : found;
    }
    const part = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(part));
    let step = [1, 2, 5, 10].map((m) => m * unit).find((v) => v >= part * (1 - 1e-9));
    if (Number.isInteger(low) && Number.isInteger(high)) step = Math.max(step, 1);
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) found.push(n * step + 0);
    return found;
  };
  const tickText = (v, all, isLog) => {
    if (isLog) return v >= 1e6 ? v.toExponential(0).replace("+", "") : number(v);
    const step = all.length > 1 ? Math.abs(all[1] - all[0]) : Math.abs(v) || 1;
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return v.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 20) });
  };

  // Texts of numbers at any distance from each other, with as few digits as tell them apart.
  const nameNumbers = (values) => values.map((v, i) => {
    const gaps = [values[i - 1], values[i + 1]].filter((other) => other !== undefined && other !== v);
    const least = Math.min(...gaps.map((other) => Math.abs(v - other))) / 10;
    const digits = [1, 2, 3, 4, 5].find((d) => Math.abs(v - Number(v.toPrecision(d))) <= least);
    return v.toLocaleString("en", { maximumSignificantDigits: digits || 6 });
  });
  const nameDay = (days) => new Date(864e5 * Math.round(days)).toISOString().slice(0, 10);

  // Draw a frame with ticks, and return the scales from values to pixels.
  const plot = (canvas, x, y, labels, isLogY, marks) => {
    const ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    g.font = "12px system-ui, sans-serif";
    const across = ticks(x, false), along = ticks(y, isLogY);
    const beside = along.map((v) => tickText(v, along, isLogY));
    const widest = Math.max(...beside.map((text) => g.measureText(text).width));
    // Points keep a distance from the frame, and the last tick has room for half of its text.
    const left = Math.max(62, widest + 30), right = width - 20, room = 7, top = 12, bottom = height - 42;
    const tall = isLogY ? Math.log10 : (v) => v;
    const px = (v) => left + room + ((v - x[0]) / (x[1] - x[0] || 1)) * (right - left - 2 * room);
    const py = (v) => bottom - ((tall(v) - tall(y[0])) / (tall(y[1]) - tall(y[0]) || 1)) * (bottom - top);
    g.strokeStyle = css("--line");
    g.fillStyle = css("--soft");
    g.strokeRect(left, top, right - left, bottom - top);
    g.textAlign = "center";
    const below = marks || across.map((v) => ({ at: v, text: tickText(v, across) }));
    for (const { at, text } of below) g.fillText(text, px(at), bottom + 16);
    g.textAlign = "right";
    along.forEach((v, i) => g.fillText(beside[i], left - 6, py(v) + 4));
    g.textAlign = "center";
    g.fillText(labels[0], (left + right) / 2, height - 6);
    g.save();
    g.translate(13, (top + bottom) / 2);
    g.rotate(-Math.PI / 2);
    g.fillText(labels[1], 0, 0);
    g.restore();
    return { g, px, py, left, right };
  };

  const bars = (parts) => {
    const box = element("div", undefined, "bars");
    for (const part of parts) {
      const bar = element("div", undefined, "bar");
      bar.style.width = `${Math.max(1, 100 * part.share)}%`;
      const value = part.value === null ? "" : `${part.value} · `;
      box.append(element("bdi", part.column), bar, element("bdi", value + percent(part.share)));
    }
    return box;
  };

  // The reasons of a row, and its cells.
  const details = (row) => {
    const box = element("div");
    box.append(bars(row.reasons));
    for (const { column } of row.reasons) {
      const usual = data.usual[column];
      if (usual) box.append(element("p", `${column}: usually ${usual}`, "soft"));
    }
    const cells = data.cells[String(row.row)];
    if (cells) {
      const grid = element("div", undefined, "cells");
      data.cell_names.forEach((name, i) => {
        const cell = element("div");
        cell.append(element("span", `${name}: `), element("bdi", cells[i]));
        grid.append(cell);
      });
      box.append(grid);
    }
    return box;
  };

  // A table that can be sorted and searched, whose rows open, and that shows some rows at a time.
  const table = (rows, columns) => {
    const place = by("rows"), search = by("search"), more = by("more");
    let sorted = { key: 0, falling: false }, most = 50, open = null;
    const head = element("tr");
    columns.forEach((column, i) => {
      const th = element("th", undefined, column.isNumber ? "number" : "");
      th.scope = "col";
      const button = element("button", column.name);
      button.type = "button";
      button.addEventListener("click", () => {
        sorted = { key: i, falling: sorted.key === i && !sorted.falling };
        fill();
      });
      th.append(button);
      head.append(th);
    });
    place.tHead.append(head);
    const found = () => {
      const wanted = search.value.trim().toLowerCase();
      const kept = rows.filter((row) => row.search.includes(wanted));
      const { value } = columns[sorted.key];
      return kept.sort((a, b) => {
        const [u, v] = [value(a), value(b)];
        const order = typeof u === "number" ? u - v : String(u).localeCompare(String(v));
        return sorted.falling ? -order : order;
      });
    };
    const line = (row) => {
      const tr = element("tr");
      tr.tabIndex = 0;
      tr.dataset.row = row.row;
      tr.setAttribute("aria-expanded", String(open === row.row));
      for (const column of columns) {
        const td = element("td", undefined, column.isNumber ? "number" : "");
        td.append(element("bdi", column.text(row)));
        tr.append(td);
      }
      const toggle = () => {
        open = open === row.row ? null : row.row;
        fill();
        place.tBodies[0].querySelector(`tr[data-row="${row.row}"]`).focus();
      };
      tr.addEventListener("click", toggle);
      tr.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
      return tr;
    };
    const opened = (row) => {
      const tr = element("tr", undefined, "open");
      const td = element("td");
      td.colSpan = columns.length;
      td.append(details(row));
      tr.append(td);
      return tr;
    };
    const fill = () => {
      const kept = found();
      [...head.children].forEach((th, i) => {
        const order = sorted.falling ? "descending" : "ascending";
        th.setAttribute("aria-sort", i === sorted.key ? order : "none");
      });
      const lines = kept.slice(0, most).flatMap((row) => (open === row.row ? [line(row), opened(row)] : [line(row)]));
      place.tBodies[0].replaceChildren(...lines);
      by("count").textContent = `${count(kept.length)} of ${count(rows.length)} rows`;
      more.hidden = kept.length <= most;
    };
    more.addEventListener("click", () => {
      most += 200;
      fill();
    });
    search.addEventListener("input", () => {
      most = 50;
      fill();
    });
    fill();
    return (row) => {
      open = row;
      search.value = "";
      fill();
      const tr = place.tBodies[0].querySelector(`tr[data-row="${row}"]`);
      if (tr) tr.scrollIntoView({ block: "center" });
    };
  };

  const searchable = (row) =>
    [row.row, row.id, row.given, row.suggested, ...row.reasons.flatMap((r) => [r.column, r.value])]
      .concat(data.cells[String(row.row)] || [])
      .filter((v) => v !== null && v !== undefined)
      .join(" ")
      .toLowerCase();
  const flagged = data.flagged.map((row) => ({ ...row, search: searchable(row) }));
  const byRow = new Map(flagged.map((row) => [row.row, row]));
  const why = (row) => {
    const isSpread = row.reasons.length && row.reasons[0].share < 0.1;
    const text = row.reasons
      .map((r) => `${r.column}${r.value === null ? "" : `=${r.value}`} (${percent(r.share)})`)
      .join(", ");
    return isSpread ? `many columns, first ${text}` : text;
  };

  const drawMap = (openRow) => {
    const { map } = data, { path } = map;
    const canvas = by("map"), tip = by("tip");
    const low = Math.max(Math.min(...map.distance), 1e-3), high = Math.max(...map.distance, map.cut) * 1.3;
    const range = [1, Math.max(...map.row, 2)];
    let scale = null, step = path ? path.chosen : 0, selected = -1;
    const weight = (i) => (path ? parseInt(path.weights[step][i], 16) / 7.5 : 1);
    const point = (i) => [scale.px(map.row[i]), scale.py(Math.max(map.distance[i], low))];
    const mark = (g, i) => {
      const [x, y] = point(i);
      const isFlagged = map.is_flagged[i] === 1;
      g.fillStyle = g.strokeStyle = css(isFlagged ? "--flag" : "--kept");
      g.globalAlpha = isFlagged ? 1 : 0.15 + 0.85 * Math.min(1, weight(i));
      g.beginPath();
      if (!isFlagged) {
        g.arc(x, y, 2.2, 0, 7);
        g.fill();
        return;
      }
      // A diamond, so that shape and not only colour marks it; filled if the row has weight.
      g.moveTo(x, y - 5);
      g.lineTo(x + 5, y);
      g.lineTo(x, y + 5);
      g.lineTo(x - 5, y);
      g.closePath();
      g.stroke();
      if (weight(i) > 0.5) g.fill();
    };
    const draw = () => {
      scale = plot(canvas, range, [low, high], ["row", map.label], true);
      const { g, py, left, right } = scale;
      map.row.forEach((_, i) => mark(g, i));
      g.globalAlpha = 1;
      g.strokeStyle = css("--ink");
      g.setLineDash([5, 4]);
      g.beginPath();
      g.moveTo(left, py(map.cut));
      g.lineTo(right, py(map.cut));
      g.stroke();
      g.setLineDash([]);
      if (selected < 0) return;
      g.lineWidth = 2;
      g.beginPath();
      g.arc(...point(selected), 9, 0, 7);
      g.stroke();
    };
    const show = (i) => {
      if (i === selected) return;
      selected = i;
      draw();
      tip.hidden = i < 0;
      tip.replaceChildren();
      if (i < 0) return;
      const row = byRow.get(map.row[i]);
      const name = row && row.id ? ` (${row.id})` : "";
      const sure = row ? `, p-value ${pValue(row.p_value)}` : "";
      tip.append(element("strong", `row ${map.row[i]}${name}`));
      const measure = map.label.split(",")[0];
      tip.append(element("div", `${measure} ${number(map.distance[i])}${sure}`));
      tip.append(row ? details(row) : element("div", map.is_flagged[i] ? "flagged" : "not flagged"));
      const [x, y] = point(i);
      tip.style.left = `${Math.max(0, Math.min(x + 12, canvas.clientWidth - tip.offsetWidth))}px`;
      tip.style.top = `${y + 12}px`;
    };
    const nearest = (event) => {
      const box = canvas.getBoundingClientRect();
      const [mx, my] = [event.clientX - box.left, event.clientY - box.top];
      let best = -1, least = 14 ** 2;
      map.row.forEach((_, i) => {
        const [x, y] = point(i);
        // Flagged rows are easier to hit.
        const gap = ((x - mx) ** 2 + (y - my) ** 2) * (map.is_flagged[i] ? 0.5 : 1);
        if (gap < least) [best, least] = [i, gap];
      });
      return best;
    };
    canvas.addEventListener("pointermove", (event) => show(nearest(event)));
    canvas.addEventListener("pointerleave", () => show(-1));
    canvas.addEventListener("click", (event) => {
      const i = nearest(event);
      if (i >= 0 && byRow.has(map.row[i])) openRow(map.row[i]);
    });
    const places = map.is_flagged.flatMap((flag, i) => (flag ? [i] : []));
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1 };
      if (event.key === "Escape") show(-1);
      if (event.key === "Enter" && selected >= 0 && byRow.has(map.row[selected])) openRow(map.row[selected]);
      if (!(event.key in steps) || !places.length) return;
      event.preventDefault();
      const at = places.indexOf(selected);
      show(places[at < 0 ? 0 : (at + steps[event.key] + places.length) % places.length]);
    });
    redraws.push(draw);
    if (!path) {
      draw();
      return;
    }
    const slider = by("alpha");
    const update = () => {
      step = Number(slider.value);
      const n = path.n_flagged[step];
      const parts = [`α = ${number(path.alphas[step])}`];
      if (n < 0) parts.push("the weights collapsed: no result");
      else parts.push(`${count(n)} rows flagged`, `${number(path.effective_rows[step])} effective rows`);
      if (step >= path.plateau[0] && step < path.plateau[1]) parts.push("on the plateau");
      if (step === path.chosen) parts.push("closest to the α of this report");
      by("alpha-text").textContent = parts.join(" · ");
      draw();
    };
    slider.max = path.alphas.length - 1;
    slider.value = path.chosen;
    slider.addEventListener("input", update);
    by("reset").addEventListener("click", () => {
      slider.value = path.chosen;
      update();
    });
    update();
  };

  const drawQuantiles = () => {
    const { expected, observed } = data.map.quantiles;
    const widest = Math.max(...expected);
    const most = Math.min(Math.max(...observed), 2.5 * widest + 2);
    const draw = () => {
      const labels = ["expected -log10 p without outliers", "observed"];
      const { g, px, py } = plot(by("quantiles"), [0, widest], [0, most], labels, false);
      const end = Math.min(widest, most);
      g.strokeStyle = css("--soft");
      g.beginPath();
      g.moveTo(px(0), py(0));
      g.lineTo(px(end), py(end));
      g.stroke();
      expected.forEach((e, i) => {
        // Points beyond the plot are drawn at its upper edge.
        const isBeyond = observed[i] > most;
        g.fillStyle = css(isBeyond ? "--flag" : "--kept");
        g.beginPath();
        g.arc(px(e), py(Math.min(observed[i], most)), 2.5, 0, 7);
        g.fill();
      });
    };
    draw();
    redraws.push(draw);
  };

  // Histograms of the columns that were bent, with the values that the learned law expects. Bars are
  // equally wide, and some of their edges are named in the units of the column.
  const drawMargins = () => {
    data.map.margins.forEach((margin, k) => {
      const { edges, counts, expected } = margin;
      const n = counts.length, most = 1.05 * Math.max(...counts, ...expected);
      const places = [0, 1, 2, 3, 4].map((i) => Math.round((i * n) / 4)), named = places.map((at) => edges[at]);
      const texts = margin.is_date ? named.map(nameDay) : nameNumbers(named);
      const marks = places.map((at, i) => ({ at, text: texts[i] }));
      const draw = () => {
        const { g, px, py } = plot(by(`margin${k}`), [0, n], [0, most], ["", "rows"], false, marks);
        g.fillStyle = css("--kept");
        g.globalAlpha = 0.45;
        counts.forEach((count, i) => {
          g.fillRect(px(i), py(count), px(i + 1) - px(i) - 0.5, py(0) - py(count));
        });
        g.globalAlpha = 1;
        g.strokeStyle = css("--ink");
        g.lineWidth = 1.5;
        g.beginPath();
        const finer = expected.length / n;
        expected.forEach((rows, i) => g.lineTo(px((i + 0.5) / finer), py(rows)));
        g.stroke();
        g.lineWidth = 1;
      };
      draw();
      redraws.push(draw);
    });
  };

  const drawConvergence = () => {
    const history = data.model.objective;
    if (history.length < 2) return;
    const low = Math.min(...history), high = Math.max(...history), room = (high - low || 1) * 0.1;
    const draw = () => {
      const ends = [1, Math.max(history.length, 2)];
      const { g, px, py } = plot(by("convergence"), ends, [low - room, high + room], ["pass", "objective"], false);
      g.strokeStyle = g.fillStyle = css("--kept");
      g.beginPath();
      history.forEach((v, i) => g.lineTo(px(i + 1), py(v)));
      g.stroke();
      history.forEach((v, i) => {
        g.beginPath();
        g.arc(px(i + 1), py(v), 3, 0, 7);
        g.fill();
      });
    };
    draw();
    redraws.push(draw);
  };

  const detectionColumns = () => [
    { name: "p-value", isNumber: true, value: (r) => r.p_value, text: (r) => pValue(r.p_value) },
    { name: "row", isNumber: true, value: (r) => r.row, text: (r) => String(r.row) },
    ...(flagged.some((r) => r.id) ? [{ name: "id", value: (r) => r.id || "", text: (r) => r.id || "" }] : []),
    ...(data.map.label === "robust distance"
      ? [{ name: "distance", isNumber: true, value: (r) => r.distance, text: (r) => number(r.distance) }]
      : []),
    { name: "why (share of the distance)", value: why, text: why },
  ];
  const labelColumns = () => [
    {
      name: "P(wrong)", isNumber: true, value: (r) => -r.probability_wrong,
      text: (r) => percent(r.probability_wrong),
    },
    { name: "row", isNumber: true, value: (r) => r.row, text: (r) => String(r.row) },
    ...(flagged.some((r) => r.id) ? [{ name: "id", value: (r) => r.id || "", text: (r) => r.id || "" }] : []),
    { name: "given", value: (r) => r.given, text: (r) => r.given },
    { name: "suggested", value: (r) => r.suggested, text: (r) => r.suggested },
    { name: "weight", isNumber: true, value: (r) => r.weight, text: (r) => weightText(r.weight) },
    { name: "why", value: why, text: why },
  ];

  const columns = data.kind === "detection" ? detectionColumns() : labelColumns();
  const openRow = flagged.length ? table(flagged, columns) : () => {};
  if (data.kind === "detection") {
    drawMap(openRow);
    drawMargins();
    drawQuantiles();
    drawConvergence();
  }
})();
