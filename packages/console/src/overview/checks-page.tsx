import { Hono } from 'hono';
import { type Check, counted, type OperateContext } from 'instep-operate';
import { Badge } from '../components/badges.tsx';
import { Panel } from '../components/panels.tsx';
import { Table } from '../components/table.tsx';
import { CodeText } from '../components/text.tsx';
import { Page } from '../page.tsx';

/** The checks ask Stripe, so that pages that are open all day share their results. */
const VALID_MS = 5 * 60_000;

/** `/checks`: what `instep doctor` finds. The overview loads it, because Stripe needs some time to answer. */
export function checksPage(options: OperateContext): Hono {
  const { clockMs, examine: checksOf } = options;
  let examined: { readonly atMs: number; readonly checks: Promise<Check[]> } | null = null;

  async function examine(): Promise<Check[] | null> {
    if (checksOf === undefined) return null;
    if (examined !== null && clockMs() - examined.atMs < VALID_MS) return await examined.checks;
    const checks = collect(checksOf());
    const own = { atMs: clockMs(), checks };
    examined = own;
    checks.catch(() => {
      if (examined === own) examined = null;
    });
    return await checks;
  }

  return new Hono().get('/', async ({ render }) => {
    const checks = await examine();
    return render(
      <Page title="Checks" area="Overview">
        <div id="checks">{checks === null ? NOT_AVAILABLE : <Checks checks={checks} />}</div>
      </Page>,
    );
  });
}

async function collect(checks: AsyncIterable<Check>): Promise<Check[]> {
  const all: Check[] = [];
  for await (const check of checks) all.push(check);
  return all;
}

/** Loads the checks into the overview. Without scripts, it is a link. */
export function ChecksLink() {
  return (
    <div id="checks" hx-get="/checks" hx-trigger="load" hx-select="#checks" hx-swap="outerHTML">
      <a href="/checks">Check the configuration, Stripe and the database</a>
    </div>
  );
}

const NOT_AVAILABLE = (
  <p class="quiet">
    The server that serves Stripe's events checks its configuration. Run{' '}
    <code>npx instep doctor</code> there.
  </p>
);

const TONES = { ok: 'good', warning: 'warning', failure: 'bad' } as const;
const STATES = ['failure', 'warning', 'ok'] as const;

function Checks({ checks }: { readonly checks: readonly Check[] }) {
  const rows = STATES.flatMap((state) => checks.filter((check) => check.state === state));
  const found = rows.filter(({ state }) => state !== 'ok');
  const tableOf = (label: string, shown: readonly Check[]) => (
    <Table
      label={label}
      columns={['Check', 'State', { name: 'Result', class: 'wide' }]}
      rows={shown.map(({ name, state, result, advice }) => [
        name,
        <Badge tone={TONES[state]}>{state}</Badge>,
        <>
          <CodeText>{result}</CodeText>
          {advice !== null && (
            <div class="quiet">
              <CodeText>{`→ ${advice}`}</CodeText>
            </div>
          )}
        </>,
      ])}
    />
  );
  return (
    <Panel title="Checks" id="panel-checks">
      {found.length > 0 && tableOf('Issues', found)}
      <details>
        <summary>{counted(rows.length - found.length, 'check')} without an issue</summary>
        {tableOf('Without an issue', rows.slice(found.length))}
      </details>
    </Panel>
  );
}
