// Only comfort: everything can be read, opened and zoomed without it.
(function () {
  function reveal() {
    var found = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    var closed = found && found.closest("details");
    if (closed && !closed.open) { closed.open = true; found.scrollIntoView(); }
  }
  addEventListener("hashchange", reveal);
  reveal();
  document.querySelectorAll(".wide").forEach(function (view) {
    var canvas = view.querySelector(".canvas"), zoom = 1;
    view.scrollLeft = (view.dataset.start || 0) * canvas.clientWidth;
    view.addEventListener("wheel", function (event) {
      if (!event.ctrlKey) { return; }
      event.preventDefault();
      var inside = event.clientX - view.getBoundingClientRect().left;
      var at = (view.scrollLeft + inside) / canvas.clientWidth;
      zoom = Math.min(256, Math.max(1, canvas.clientWidth / view.clientWidth * Math.exp(-event.deltaY / 300)));
      canvas.style.width = 100 * zoom + "%";
      [4, 16, 64].forEach(function (each) { canvas.classList.toggle("near" + each, zoom >= each); });
      view.scrollLeft = at * canvas.clientWidth - inside;
    }, { passive: false });
    view.closest(".zoom").addEventListener("change", function () { canvas.style.width = ""; canvas.className = "canvas"; });
  });
})();
