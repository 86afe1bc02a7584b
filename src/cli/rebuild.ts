import { Command } from 'commander';
import { readPlanSelection } from '../config/config.ts';
import { type Difference, rebuild } from '../event-log/rebuild.ts';
import { positiveInteger } from './arguments.ts';
import { tell } from './output.ts';
import { withDatabase } from './with-database.ts';

type RebuildOptions = { team?: number; dryRun?: boolean; json?: boolean };

export function rebuildCommand(): Command {
  return new Command('rebuild')
    .description('fold the log anew: show and repair what is not as the events say')
    .option('--team <id>', 'only this team', positiveInteger)
    .option('--dry-run', 'show the differences, and leave them')
    .option('--json', 'print a JSON line for each difference')
    .addHelpText('after', '\nExample:\n  TEAM_PLAN=best instep rebuild --dry-run')
    .action(async ({ team, dryRun = false, json }: RebuildOptions) => {
      const planSelection = readPlanSelection(process.env);
      const count = await withDatabase(async (database) => {
        let found = 0;
        for await (const difference of rebuild(database, {
          planSelection,
          teamId: team,
          isDryRun: dryRun,
        })) {
          process.stdout.write(`${json ? JSON.stringify(difference) : describe(difference)}\n`);
          found += 1;
        }
        return found;
      });
      const outcome = dryRun ? 'found' : 'repaired';
      tell(count === 0 ? 'no differences' : `${count} difference(s) ${outcome}`);
    });
}

/** Only what differs: `team 7 (cus_1): planName Pro → Team`. */
function describe({ teamId, customerId, is, shouldBe, subscriptionIds }: Difference): string {
  const fields = Object.keys(shouldBe) as (keyof typeof shouldBe)[];
  const changes = fields
    .filter((field) => is[field] !== shouldBe[field])
    .map((field) => `${field} ${is[field] ?? '-'} → ${shouldBe[field] ?? '-'}`);
  const states = subscriptionIds.map((id) => `state of ${id ?? 'a subscription without an id'}`);
  return `team ${teamId} (${customerId}): ${[...changes, ...states].join(', ')}`;
}
