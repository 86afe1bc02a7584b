// Why a team's plan changed, and who changed it.

/** What changed a team's plan: `name` is the product's name. */
export type ChangeCause =
  | 'event'
  | 'snapshot'
  | 'repair'
  | 'rebuild'
  | 'link'
  | 'name'
  | 'operator';

/** An operator who acts; the audit has the action under its id. */
export type ActingOperator = { readonly name: string; readonly actionId: number | null };
