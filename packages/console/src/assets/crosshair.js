// The crosshair of the chart, by mouse, touch and keyboard. It keeps its time when the chart is refreshed. A range
// input draws it and handles the keys.
let selectedMs = null;

function moveCrosshair() {
  const chart = document.querySelector('.chart');
  if (chart === null) return;
  const crosshair = chart.querySelector('.crosshair');
  const { firstMs, slotMs } = crosshair.dataset;
  const index = selectedMs === null ? -1 : (selectedMs - firstMs) / slotMs;
  const slot = chart.querySelector('.slots').children[index];
  chart.classList.toggle('selected', slot !== undefined);
  if (slot === undefined) return;
  crosshair.value = index;
  const readout = chart.querySelector('.readout');
  readout.querySelector('time').dateTime = new Date(selectedMs).toISOString();
  readout.querySelector('span').textContent = slot.querySelector('title').textContent;
  showTimes();
  crosshair.setAttribute('aria-valuetext', readout.textContent);
}

/** Selects the slot with this index. Returns whether it was selected already. */
function select({ firstMs, slotMs }, index) {
  const atMs = Number(firstMs) + index * slotMs;
  const isSame = atMs === selectedMs;
  selectedMs = atMs;
  if (!isSame) moveCrosshair();
  return isSame;
}

function selectAt({ target, clientX }) {
  const plot = target.closest('.plot');
  if (plot === null) return false;
  const { dataset, max } = plot.querySelector('.crosshair');
  const { left, width } = plot.getBoundingClientRect();
  const share = Math.min(Math.max((clientX - left) / width, 0), 0.9999);
  return select(dataset, Math.floor(share * (Number(max) + 1)));
}

// The first touch of a slot shows its values, the second one opens its events.
let isSecond = false;

document.addEventListener('pointerdown', (event) => {
  isSecond = selectAt(event);
});
document.addEventListener('pointermove', selectAt);
document.addEventListener('click', (event) => {
  if (event.target.closest('.slots') !== null && !isSecond) event.preventDefault();
});

for (const name of ['input', 'focusin']) {
  document.addEventListener(name, ({ target }) => {
    if (!target.matches('.crosshair')) return;
    // A refresh moves the focus to the new chart, not the crosshair.
    if (name === 'input' || selectedMs === null) select(target.dataset, Number(target.value));
  });
}

document.addEventListener('keydown', ({ key, target }) => {
  if (!target.matches('.crosshair')) return;
  const { children } = target.closest('.plot').querySelector('.slots');
  if (key === 'Enter') location.assign(children[target.value].href.baseVal);
});

document.addEventListener('htmx:afterSwap', moveCrosshair);
