import type { Page } from 'playwright-core';

/**
 * Texts that are cut off at the side, texts that cover each other, links that look like one, and labels without
 * a value.
 */
export async function layoutProblems(page: Page): Promise<string[]> {
  return await page.evaluate<string[]>(FIND_PROBLEMS);
}

const FIND_PROBLEMS = `(() => {
  const NOT_SHOWN = 'title, desc, template, noscript, .skip';
  const problems = new Set();
  const shown = [];

  for (const node of textNodes()) {
    const element = node.parentElement;
    const clip = clipOf(element);
    if (clip === null) continue;
    const name = node.data.trim().slice(0, 40);
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const [above, below] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
      if (right - left < 1 || below - above < 3) continue;
      if (left < clip.left - 1 || right > clip.right + 1) problems.add('cut off: ' + name);
      // Sticky headers and buttons cover the rows that scroll below them.
      const layer = element.closest('thead, .toolbar, .pages');
      shown.push({ node, layer, name, left, right, top: above, bottom: below });
    }
  }

  shown.sort((one, other) => one.top - other.top);
  for (const [index, one] of shown.entries()) {
    for (const other of shown.slice(index + 1)) {
      if (other.top > one.bottom - 3) break;
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const isBeside = one.node === other.node || one.layer !== other.layer || width <= 1;
      if (!isBeside) problems.add('overlap: ' + one.name + ' | ' + other.name);
    }
  }

  for (const link of document.querySelectorAll('a + a')) {
    if (getComputedStyle(link).textDecorationLine !== 'underline') continue;
    const [one, other] = [link.previousElementSibling.getClientRects(), link.getClientRects()];
    const [end, start] = [one[one.length - 1], other[0]];
    const isOneLine = end && start && Math.abs(end.bottom - start.bottom) < 3;
    if (isOneLine && start.left - end.right < 6) problems.add('one link: ' + link.textContent);
  }

  for (const cell of document.querySelectorAll('.cards td')) {
    const label = getComputedStyle(cell, '::before');
    const isLabeled = cell.checkVisibility() && label.position === 'absolute';
    const isEmpty = cell.innerText.trim() === '' && cell.querySelector('input') === null;
    if (isLabeled && isEmpty) problems.add('no value: ' + cell.dataset.label);
    const isTaller = isLabeled && parseFloat(label.height) > cell.clientHeight;
    if (isTaller) problems.add('overlap: ' + cell.dataset.label + ' | the next label');
  }
  return [...problems];

  function* textNodes() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { data, parentElement } = walker.currentNode;
      if (data.trim() === '' || parentElement.closest(NOT_SHOWN) !== null) continue;
      const how = { opacityProperty: true, visibilityProperty: true };
      if (parentElement.checkVisibility(how)) yield walker.currentNode;
    }
  }

  /** Where a text can be seen; null where it is shortened on purpose or scrolls sideways. */
  function clipOf(element) {
    const clip = {
      left: 0,
      right: document.documentElement.clientWidth,
      top: -Infinity,
      bottom: Infinity,
    };
    for (let one = element; one !== document.body; one = one.parentElement) {
      const { overflowX, textOverflow } = getComputedStyle(one);
      const { left, right, top, bottom } = one.getBoundingClientRect();
      if (right - left <= 1 || textOverflow === 'ellipsis') return null;
      const isPart = one instanceof SVGElement && !one.matches('svg');
      if (overflowX === 'visible' || isPart) continue;
      clip.left = Math.max(clip.left, left);
      clip.right = Math.min(clip.right, right);
      clip.top = Math.max(clip.top, top);
      clip.bottom = Math.min(clip.bottom, bottom);
    }
    return clip;
  }
})()`;
