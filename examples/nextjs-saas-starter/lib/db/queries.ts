import { and, eq, isNull } from 'drizzle-orm';
import { readSession } from '@/lib/auth/session';
import { db } from './drizzle';
import { teamMembers, teams, users } from './schema';

export async function getUser() {
  const session = await readSession();
  if (session === null) return null;
  const isActive = and(eq(users.id, session.user.id), isNull(users.deletedAt));
  const [user] = await db.select().from(users).where(isActive);
  return user ?? null;
}

export async function getTeam(userId: number) {
  const [row] = await db
    .select({ team: teams })
    .from(teams)
    .innerJoin(teamMembers, eq(teamMembers.teamId, teams.id))
    .where(eq(teamMembers.userId, userId));
  return row?.team ?? null;
}
