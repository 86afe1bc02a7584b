import { ListenFailed } from '../../server/listener.ts';

const PORTS_TO_TRY = 100;

export type NextFreePortOptions<Listener> = {
  readonly listenAt: (port: number) => Promise<Listener>;
  /** Hears of each port that is taken, and of the one that is tried then. */
  readonly onTaken: (port: number, next: number) => void;
};

/** Listens at this port, or at the next one that is free. @throws ListenFailed */
export async function atNextFreePort<Listener>(
  first: number,
  { listenAt, onTaken }: NextFreePortOptions<Listener>,
): Promise<Listener> {
  for (let port = first; ; port += 1) {
    try {
      return await listenAt(port);
    } catch (error) {
      const isNextWorthTrying = error instanceof ListenFailed && error.isTaken;
      if (!isNextWorthTrying || port === first + PORTS_TO_TRY) throw error;
      onTaken(port, port + 1);
    }
  }
}
