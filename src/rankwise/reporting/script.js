"use strict";
(() => {
  const unpack = async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const held = (id) => JSON.parse(document.getElementById(id).textContent);
  const table = document.querySelector(".queries table");
  if (!table || typeof DecompressionStream === "undefined") return;
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const status = document.getElementById("status"), search = document.getElementById("search");
  const dialog = document.getElementById("detail"), rankings = dialog.querySelector(".content");
  const details = held("details"), total = Number(table.dataset.total);
  let rest = held("rest");

  const make = (name, kind, words) => {
    const node = document.createElement(name);
    node.className = kind;
    node.textContent = words;
    if (name === "button") node.type = "button";
    return node;
  };
  const enhance = () => {
    for (const cell of body.querySelectorAll("th[data-detail]:not(:has(button))"))
      cell.replaceChildren(make("button", "open", cell.textContent));
  };
  const complete = async () => {
    if (!rest) return;
    const packed = rest;
    rest = "";
    body.insertAdjacentHTML("beforeend", await unpack(packed));
    enhance();
  };
  const tell = () => {
    const shown = [...body.rows].filter((row) => !row.hidden).length;
    const more = rest ? "; sort or search to see all" : "";
    status.textContent = `${shown.toLocaleString("en")} of ${total.toLocaleString("en")} queries${more}`;
  };
  const value = (row, place) => {
    const words = row.cells[place].textContent.trim();
    const number = Number(words.replace("−", "-").replace("±", "").replaceAll(",", ""));
    return words === "–" ? undefined : place && !Number.isNaN(number) ? number : words;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  const sort = async (place) => {
    await complete();
    const sign = heads[place].ariaSort === "ascending" ? -1 : 1;
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[place].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const keyed = [...body.rows].map((row) => [value(row, place), row]);
    keyed.sort(([a], [b]) => (a === undefined) - (b === undefined) || (a === undefined ? 0 : sign * compare(a, b)));
    body.append(...keyed.map(([, row]) => row));
    tell();
  };
  const filter = async () => {
    await complete();
    const wanted = search.value.trim().toLowerCase();
    for (const row of body.rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
    tell();
  };
  const open = async (cell) => {
    const place = Number(cell.dataset.detail), size = Number(table.dataset.block);
    const block = JSON.parse(await unpack(details[Math.floor(place / size)]));
    dialog.querySelector("h2").textContent = `Query ${cell.textContent}`;
    rankings.innerHTML = block[place % size]; // written and escaped by rankwise; the policy of this page runs no script in it
    dialog.showModal();
    dialog.scrollTop = 0;
  };

  heads.forEach((head, place) => {
    const button = make("button", "sort", head.textContent);
    button.addEventListener("click", () => sort(place));
    head.replaceChildren(button);
  });
  body.addEventListener("click", (event) => {
    if (event.target.matches("button.open")) open(event.target.parentElement);
  });
  search.addEventListener("input", filter);
  dialog.querySelector(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  // in the frame of a notebook a link to a section would open the notebook itself, whose address the frame has as its base
  if (document.URL === "about:srcdoc") document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    document.getElementById(link.hash.slice(1)).scrollIntoView();
  });
  document.querySelectorAll("[data-script]").forEach((node) => { node.hidden = false; });
  enhance();
  tell();
})();
