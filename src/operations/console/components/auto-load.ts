/**
 * Attributes of what is shown while a search has found nothing yet: the part of the page with the id
 * `found` is replaced by that of the next page at once, so that nobody has to click through a long log.
 */
export function autoLoad(nextPageUrl: string) {
  return {
    'hx-get': nextPageUrl,
    'hx-trigger': 'load delay:50ms',
    'hx-select': '#found',
    'hx-target': '#found',
    'hx-swap': 'outerHTML',
  };
}
