import { type CheckoutServices, completeCheckout } from 'instep/src/checkout/checkout.ts';
import type { ApplicationId } from 'instep-engine/src/postgres/application.ts';
import type { Database, Query } from 'instep-engine/src/postgres/database.ts';
import { linkTeam } from 'instep-engine/src/postgres/statements/link-teams.ts';
import { addTeam } from 'instep-engine/src/postgres/statements/teams.ts';
import { checkoutRecord, type Redirect } from '../checkout.ts';
import { giftRecord, type TeamRecord } from '../expected-team.ts';
import type { Step } from '../lifecycle/delivery-schedule.ts';
import type { History } from '../lifecycle/history.ts';
import type { SimulatedApi } from './simulated-api.ts';
import { untilAvailable } from './until-available.ts';

/** A step of the application, not of Stripe or maintenance. */
type ApplicationStep = Extract<Step, { kind: 'link' | 'relink' | 'checkout' | 'gift' }>;

export function isApplicationStep(step: Step): step is ApplicationStep {
  return ['link', 'relink', 'checkout', 'gift'].includes(step.kind);
}

/** Runs the application's steps for the teams of one customer, one after the other. */
export class Application {
  /** The last plan that it wrote into each team. */
  readonly written = new Map<ApplicationId, TeamRecord>();
  readonly #database: Database;
  readonly #query: Query;
  readonly #history: History;
  #teamId: ApplicationId;
  #lastStep: Promise<void> = Promise.resolve();

  private constructor(database: Database, history: History, teamId: ApplicationId) {
    this.#database = database;
    this.#query = database.query;
    this.#history = history;
    this.#teamId = teamId;
  }

  /** Begins with a team that is not linked yet. */
  static async open(database: Database, history: History): Promise<Application> {
    const teamId = await addTeam(database.query, { name: history.customerId, customerId: null });
    return new Application(database, history, teamId);
  }

  run(step: ApplicationStep): Promise<void> {
    this.#lastStep = this.#lastStep.then(() => this.#run(step));
    return this.#lastStep;
  }

  /** Completes a checkout, and then once more, as when the page is loaded again. */
  complete(
    redirect: Redirect,
    services: Omit<CheckoutServices, 'api'> & { readonly api: SimulatedApi },
  ): Promise<void> {
    const api = { ...services.api, ...services.api.checkoutOf(this.#history, redirect) };
    const call = () =>
      untilAvailable(() =>
        completeCheckout({ ...services, api }, 'cs_1', { teamId: this.#teamId }),
      );
    this.#lastStep = this.#lastStep
      .then(call)
      .then(call)
      .then(() => undefined);
    return this.#lastStep;
  }

  async #run(step: ApplicationStep): Promise<void> {
    switch (step.kind) {
      case 'link':
        await untilAvailable(() => this.#link());
        break;
      case 'relink':
        await this.#relink(step.how);
        break;
      case 'checkout':
        await this.#checkOut(step);
        break;
      case 'gift':
        await this.#write(giftRecord(step.hasProduct));
        break;
    }
  }

  #link(): Promise<string | null> {
    return this.#database.transaction((query) =>
      linkTeam(query, this.#teamId, this.#history.customerId),
    );
  }

  async #relink(how: Extract<Step, { kind: 'relink' }>['how']): Promise<void> {
    const values = [this.#teamId];
    if (how === 'move') {
      const unlink = 'update teams set provider_customer_id = null where id = $1';
      await untilAvailable(() => this.#query(unlink, values));
    }
    if (how === 'recreate') {
      await untilAvailable(() => this.#query('delete from teams where id = $1', values));
    }
    const { customerId } = this.#history;
    const added = await untilAvailable(() => addTeam(this.#query, { name: how, customerId }));
    if (how !== 'duplicate') this.#teamId = added;
  }

  async #checkOut({ number, isNew }: Extract<Step, { kind: 'checkout' }>): Promise<void> {
    const event = this.#history.events.find((one) => one.number === number);
    if (event !== undefined) await this.#write(checkoutRecord(event, isNew));
  }

  async #write(record: TeamRecord): Promise<void> {
    const update = `
      update teams
         set provider_customer_id     = $2,
             provider_subscription_id = $3,
             provider_product_id      = $4,
             plan_name                = $5,
             subscription_status      = $6
       where id = $1`;
    const { providerSubscriptionId, providerProductId, planName, subscriptionStatus } = record;
    const plan = [providerSubscriptionId, providerProductId, planName, subscriptionStatus];
    this.written.set(this.#teamId, record);
    await untilAvailable(() =>
      this.#query(update, [this.#teamId, this.#history.customerId, ...plan]),
    );
  }
}

/** Allows several teams with one customer, as in an application whose table has no unique constraint. */
export async function allowSharedCustomers(query: Query): Promise<void> {
  await query('alter table teams drop constraint if exists teams_provider_customer_id_key');
  await query('create index if not exists teams_of_customer on teams (provider_customer_id)');
}
