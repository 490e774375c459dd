"use strict";
(() => {
  const find = document.getElementById("find");
  const found = document.getElementById("found");
  const parts = [...document.querySelectorAll("main li, main summary, main pre, main p, main dd, main tr, main h3")];
  const folds = [...document.querySelectorAll("main details")];
  let hits = [];
  let at = -1;

  const reveal = (part) => {
    for (let above = part.parentElement; above; above = above.parentElement) {
      if (above.tagName === "DETAILS") above.open = true;
    }
  };
  const go = (step) => {
    if (!hits.length) return;
    hits[at]?.classList.remove("now");
    at = (at + step + hits.length) % hits.length;
    reveal(hits[at]);
    hits[at].classList.add("now");
    hits[at].scrollIntoView({ block: "center" });
    found.textContent = `${at + 1} of ${hits.length}`;
  };
  const search = () => {
    for (const part of hits) part.classList.remove("hit", "now");
    const wanted = find.value.trim().toLowerCase();
    hits = wanted ? parts.filter((part) => part.textContent.toLowerCase().includes(wanted)) : [];
    hits = hits.filter((part) => !hits.some((other) => other !== part && part.contains(other)));
    for (const part of hits) part.classList.add("hit");
    at = -1;
    found.textContent = wanted ? `${hits.length} found` : "";
  };
  const follow = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    if (target.tagName === "DETAILS") target.open = true;
    reveal(target);
    target.scrollIntoView({ block: "center" });
  };

  find.addEventListener("input", search);
  find.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { find.value = ""; search(); find.blur(); }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== find) { event.preventDefault(); find.focus(); }
  });
  document.getElementById("unfold").addEventListener("click", () => folds.forEach((fold) => { fold.open = true; }));
  document.getElementById("fold").addEventListener("click", () => folds.forEach((fold) => { fold.open = false; }));
  window.addEventListener("hashchange", follow);
  document.getElementById("tools").hidden = false;
  follow();
})();
