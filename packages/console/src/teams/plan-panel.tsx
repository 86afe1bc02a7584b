import type { NamedTeam } from 'instep-operate';
import { ROW_FIELDS, SingleForm } from '../actions/action-form.tsx';
import { Field } from '../components/form.tsx';
import { Panel } from '../components/panels.tsx';
import { teamUrl } from '../links/subject-links.tsx';
import { canAct } from '../request-context.ts';

/** The plan that was entered and could not be given, and why. */
export type PlanFailure = {
  readonly value: string;
  readonly error: string;
  /** Whether it could be given as a new one. */
  readonly isUnknown: boolean;
};

type PlanPanelProps = {
  readonly team: NamedTeam;
  /** The names that can be given. */
  readonly plans: readonly string[];
  readonly failure: PlanFailure | null;
};

/** Gives a team a plan without a subscription, or takes away one that was given. */
export function PlanPanel({ team, plans, failure }: PlanPanelProps) {
  if (!canAct()) return null;
  const { planName } = team.plan;
  if (planName === undefined) return null;
  const subject = { kind: 'team', id: String(team.id) } as const;
  const form = { back: teamUrl(team.id), subject, action: 'set-plan' } as const;
  const { value = '', error, isUnknown = false } = failure ?? {};
  return (
    <Panel title="Plan without a subscription" id="give-plan">
      <details open={failure !== null}>
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
          {isUnknown && (
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
