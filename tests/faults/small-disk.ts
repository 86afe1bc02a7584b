import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIZE = '256m';
const CHUNK = Buffer.alloc(64 * 1_024);

/** A file system in memory that a test can fill to the last byte. */
export class SmallDisk {
  readonly folder: string;
  readonly #filler: string;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'instep-disk-'));
    this.#filler = join(this.folder, 'filler');
    const options = ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'instep', this.folder];
    try {
      execFileSync('mount', options, { stdio: 'ignore' });
    } catch (error) {
      rmSync(this.folder, { recursive: true });
      throw error;
    }
    chmodSync(this.folder, 0o755);
  }

  /** Leaves no space for anything else. */
  fill(): void {
    for (;;) {
      try {
        appendFileSync(this.#filler, CHUNK);
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
        throw error;
      }
    }
  }

  free(): void {
    rmSync(this.#filler, { force: true });
  }

  remove(): void {
    execFileSync('umount', ['-l', this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Whether this machine allows mounting one. */
export function canMount(): boolean {
  try {
    new SmallDisk().remove();
    return true;
  } catch {
    return false;
  }
}
