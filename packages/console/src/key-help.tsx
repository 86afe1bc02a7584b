import { Facts } from './components/panels.tsx';

const KEYS = [
  ['/', 'Search'],
  ['j, k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
] as const;

/** The help for keys, which a script shows where they work. Speech input types letters, so they can be turned off. */
export function KeyHelp() {
  return (
    <footer class="keys" hidden>
      <details>
        <summary>Keys</summary>
        <Facts facts={KEYS} />
        <label>
          <input type="checkbox" id="single-keys" /> Use these keys
        </label>
      </details>
    </footer>
  );
}
