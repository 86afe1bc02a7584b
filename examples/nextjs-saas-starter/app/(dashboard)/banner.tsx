import { getTeam, getUser } from '@/lib/db/queries';
import { bannerOf } from '@/lib/payments/access';
import { instep } from '@/lib/payments/instep';

/** What the team of the signed-in user must know about its subscription. */
export async function Banner() {
  const user = await getUser();
  const team = user === null ? null : await getTeam(user.id);
  const access = team === null ? null : await instep.access(team.id);
  const text = access === null ? null : bannerOf(access, Date.now());
  return text === null ? null : <p role="status">{text}</p>;
}
