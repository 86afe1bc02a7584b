import type { NamedTeam, RecordedAction } from 'instep-operate';
import { ROW_FIELDS, SingleForm } from '../actions/action-form.tsx';
import { recordedText } from '../actions/action-summary.tsx';
import { Field } from '../components/form.tsx';
import { Panel } from '../components/panels.tsx';
import { teamUrl } from '../links.tsx';
import { canAct } from '../request-context.ts';

type PlanPanelProps = {
  readonly team: NamedTeam;
  /** The names that can be given. */
  readonly plans: readonly string[];
  /** What failed last. */
  readonly failed: RecordedAction | null;
};

/** Gives a team a plan without a subscription, or takes away one that was given. */
export function PlanPanel({ team, plans, failed }: PlanPanelProps) {
  if (!canAct()) return null;
  const { planName } = team.plan;
  if (planName === undefined) return null;
  const subject = { kind: 'team', id: String(team.id) } as const;
  const form = { back: teamUrl(team.id), subject, action: 'set-plan' } as const;
  const error = failed?.action === 'set-plan' ? recordedText(failed) : undefined;
  const value = failed?.result.code === 'unknown-plan' ? failed.result.planName : '';
  return (
    <Panel title="Plan without a subscription" id="give-plan">
      <details open={error !== undefined}>
        <summary>
          {planName === null ? 'Give a plan' : 'Give another plan, or take it away'}
        </summary>
        <p>
          A gift, a partner, an internal team. It stays until a subscription of the team's customer
          decides otherwise.
        </p>
        <SingleForm {...form} class="row">
          <Field
            {...{ value, error, offered: plans }}
            label="Plan"
            name={`${ROW_FIELDS.plan}team:${team.id}`}
            autocomplete="off"
            required
          />
          {value !== '' && (
            <label>
              <input type="checkbox" name={`${ROW_FIELDS.isNewPlan}team:${team.id}`} value="yes" />{' '}
              It is new
            </label>
          )}
        </SingleForm>
        {planName !== null && <SingleForm {...form} text="Take the plan away" />}
      </details>
    </Panel>
  );
}
