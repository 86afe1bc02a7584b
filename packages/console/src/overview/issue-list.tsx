import { countText, MAX_COUNTED_ISSUES } from 'instep/operate/inside';
import { WhenCurrent, WhenOutdated } from '../components/live.tsx';
import { Time } from '../components/text.tsx';
import { issuesUrl } from '../links/issue-links.tsx';
import { areJustParked, customersHave, type Issue, type SyncState } from './issues.tsx';

type IssueListProps = {
  readonly issues: readonly Issue[];
  readonly state: SyncState;
  readonly nowMs: number;
};

/** One sentence on whether anything needs attention, then the issues. */
export function IssueList({ issues, state, nowMs }: IssueListProps) {
  const justParked = areJustParked(state, nowMs) && <JustParked counts={state.counts} />;
  if (issues.length === 0) {
    const { reconciled } = state;
    const areCompared = reconciled?.phase === 'done';
    return (
      <div class={areCompared ? 'health good' : 'health'}>
        {areCompared ? <InSync nowMs={nowMs} /> : <NotCompared {...{ reconciled, nowMs }} />}
        {justParked}
      </div>
    );
  }
  const total = issues.reduce((sum, { count = 1 }) => sum + count, 0);
  // Counting can stop at this number, so that there can be more.
  const totalText = countText(total, MAX_COUNTED_ISSUES);
  return (
    <section class="health bad" aria-labelledby="issues">
      <p>
        <strong id="issues">
          {totalText} {total === 1 ? 'issue needs' : 'issues need'} attention.
        </strong>
      </p>
      <ul>
        {issues.map(({ problem, remedy, link }, index) => (
          <li>
            {problem} {remedy}{' '}
            {link && (
              <a id={`issue-${index}`} href={link.path}>
                {link.text}
              </a>
            )}
          </li>
        ))}
      </ul>
      {justParked}
    </section>
  );
}

function InSync({ nowMs }: Pick<IssueListProps, 'nowMs'>) {
  return (
    <p>
      <WhenCurrent>
        <strong>All teams are in sync.</strong> No action needed.
      </WhenCurrent>
      <WhenOutdated>
        All teams were in sync at <Time ms={nowMs} format="clock" />. The current state is unknown.
      </WhenOutdated>
    </p>
  );
}

type NotComparedProps = Pick<IssueListProps, 'nowMs'> & Pick<SyncState, 'reconciled'>;

/** Only a complete comparison with Stripe shows that no change was missed. */
function NotCompared({ reconciled, nowMs }: NotComparedProps) {
  return (
    <p>
      <WhenCurrent>
        <strong>No problem is known.</strong>{' '}
        {reconciled === null
          ? 'Teams have not been compared with Stripe yet.'
          : 'The last comparison of all teams with Stripe has not finished.'}{' '}
        <a id="compare" href="/reconcile">
          {reconciled === null ? 'Compare' : 'Show'}
        </a>
      </WhenCurrent>
      <WhenOutdated>
        No problem was known at <Time ms={nowMs} format="clock" />. The current state is unknown.
      </WhenOutdated>
    </p>
  );
}

/** Customers that are on the list of issues but need no action yet. */
function JustParked({ counts }: Pick<SyncState, 'counts'>) {
  return (
    <p>
      {customersHave(counts)} had parked events for less than 10 minutes. Most get their team by
      then.{' '}
      <a id="just-parked" href={issuesUrl('parked')}>
        Show
      </a>
    </p>
  );
}
