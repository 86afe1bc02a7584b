import { Facts } from './components/panels.tsx';
import { currentRequest } from './request-context.ts';

const KEYS = [
  ['/', 'Search'],
  ['j, k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['?', 'These keys'],
] as const;

/** What a script shows: the help for keys. */
export function KeyHelp() {
  if (currentRequest().requester.kind === 'visitor') return null;
  return (
    <template id="key-help">
      <dialog class="keys" aria-labelledby="keys-title">
        <h2 id="keys-title">Keys</h2>
        <Facts facts={KEYS} />
        <form method="dialog" class="row">
          <label>
            <input type="checkbox" id="single-keys" /> Use these keys
          </label>
          <button type="submit" class="button">
            Close
          </button>
        </form>
      </dialog>
    </template>
  );
}
