import type { TeamGroup } from 'instep/operate';

/** The number of all teams. */
export function countAll(groups: readonly TeamGroup[]): number {
  return groups.reduce((sum, { teams }) => sum + teams, 0);
}

/** The number of teams for each value of a filter, the most frequent first. */
export function countBy(
  groups: readonly TeamGroup[],
  valuesOf: (group: TeamGroup) => readonly (string | null)[],
): [value: string, teams: number][] {
  const counts = new Map<string, number>();
  for (const group of groups) {
    for (const value of valuesOf(group)) {
      if (value !== null) counts.set(value, (counts.get(value) ?? 0) + group.teams);
    }
  }
  return [...counts].sort(([, one], [, other]) => other - one);
}
