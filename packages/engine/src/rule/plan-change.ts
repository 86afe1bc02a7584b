// Why a team's plan changed, and who changed it.

/** What changed a team's plan: `name` is the product's name, `app` the application itself, which Instep noticed later. */
export type ChangeCause =
  | 'event'
  | 'snapshot'
  | 'repair'
  | 'rebuild'
  | 'link'
  | 'name'
  | 'operator'
  | 'app';

/** An operator who acts; the audit has the action under its id. */
export type ActingOperator = { readonly name: string; readonly actionId: number | null };
