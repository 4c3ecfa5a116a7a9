"use strict";
// Draws each figure from the specification that stands beside it. Nothing is loaded: the loader refuses.
(() => {
  const refuse = { load: () => Promise.reject(new Error("this page loads nothing")), sanitize: () => Promise.reject(new Error("no links")) };
  const draw = (place) => {
    const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    const options = { actions: false, renderer: place.dataset.renderer, loader: refuse, scaleFactor: { canvas: 2 } };
    return window.vegaEmbed(place, spec, options).catch((error) => {
      place.textContent = "This figure could not be drawn (" + error.message + "). Its numbers are in the table below.";
      place.classList.add("undrawn");
    });
  };
  const places = Array.from(document.querySelectorAll("[data-spec]"));
  places.reduce((before, place) => before.then(() => draw(place)), Promise.resolve()).then(() => {
    document.documentElement.dataset.drawn = String(document.querySelectorAll(".chart svg, .chart canvas").length);
  });
})();
