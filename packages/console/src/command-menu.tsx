import { Facts } from './components/panels.tsx';

import { currentRequest } from './request-context.ts';

type CommandMenuProps = {
  readonly pages: readonly { readonly name: string; readonly path: string }[];
};

const KEYS = [
  ['Ctrl K, Cmd K', 'Commands: the pages, and what can be done here'],
  ['/', 'Search'],
  ['j, k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row; with Shift and a click, a range'],
  ['?', 'These keys'],
] as const;

/** What a script shows for the keyboard: the command menu, and the help for keys. Each command is also on a page. */
export function CommandMenu({ pages }: CommandMenuProps) {
  if (currentRequest().requester.kind === 'visitor') return null;
  return (
    <template id="command-menu">
      <dialog class="commands" aria-label="Commands">
        <input
          type="text"
          role="combobox"
          aria-label="Command or search"
          aria-expanded="true"
          aria-controls="command-list"
          aria-autocomplete="list"
          autocomplete="off"
          placeholder="Go to, do or search"
        />
        <div id="command-list" role="listbox" aria-label="Commands" />
        <nav hidden>
          {pages.map(({ name, path }) => (
            <a href={path}>{name}</a>
          ))}
        </nav>
      </dialog>
      <dialog class="keys" aria-labelledby="keys-title">
        <h2 id="keys-title">Keys</h2>
        <Facts facts={KEYS} />
        <form method="dialog" class="row">
          <label>
            <input type="checkbox" id="single-keys" /> Use keys without Ctrl
          </label>
          <button type="submit" class="button">
            Close
          </button>
        </form>
      </dialog>
    </template>
  );
}
