import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

const UNPACK_TIMEOUT_MS = 50_000;

/** Where systems install Chromium. */
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

type Program = {
  readonly executablePath: string;
  readonly env?: Readonly<Record<string, string>>;
};

/**
 * Starts `CHROMIUM_PATH`, the system's Chromium, or the one from npm. It resolves no host names, so
 * it can reach only this machine.
 */
export async function launchChromium(): Promise<Browser> {
  const program = await findChromium();
  return await chromium.launch({
    ...program,
    // The sandbox does not work as root and in many containers; the pages are our own.
    args: [
      '--no-sandbox',
      '--no-zygote',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

async function findChromium(): Promise<Program> {
  const chosen = process.env.CHROMIUM_PATH ?? INSTALLED.find((path) => existsSync(path));
  if (chosen !== undefined) return { executablePath: chosen };
  if (process.platform === 'linux' && process.arch === 'x64') return await chromiumFromNpm();
  throw new Error('no Chromium found: install one, or set CHROMIUM_PATH to it');
}

/**
 * The Chromium of `@sparticuz/chromium` with its libraries and fonts, unpacked once beside the
 * packages. Processes that unpack it at the same time use separate folders.
 */
async function chromiumFromNpm(): Promise<Program> {
  const home = chromiumHome();
  if (!existsSync(home)) {
    mkdirSync(dirname(home), { recursive: true });
    const folder = mkdtempSync(`${home}-`);
    await unpack(folder);
    writeFileSync(join(folder, 'fonts', 'fonts.conf'), fontsIn(home));
    // A user other than the one who unpacked it can run it.
    for (const path of [folder, join(folder, 'chromium')]) chmodSync(path, 0o755);
    try {
      renameSync(folder, home);
    } catch (error) {
      rmSync(folder, { recursive: true });
      if (!existsSync(home)) throw error;
    }
  }
  return {
    executablePath: join(home, 'chromium'),
    env: {
      HOME: tmpdir(),
      LD_LIBRARY_PATH: join(home, 'al2023', 'lib'),
      FONTCONFIG_PATH: join(home, 'fonts'),
    },
  };
}

function chromiumHome(): string {
  const require = createRequire(import.meta.url);
  const entry = dirname(require.resolve('@sparticuz/chromium'));
  const [packages = ''] = entry.split(join('@sparticuz', 'chromium'));
  const { version } = require(join(packages, '@sparticuz', 'chromium', 'package.json'));
  return join(packages, '.cache', `chromium-${version}`);
}

/** The package unpacks into `TMPDIR`, and its libraries only on AWS Lambda. */
async function unpack(folder: string): Promise<void> {
  const script = `import chromium from '@sparticuz/chromium'; await chromium.executablePath();`;
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
    env: { TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs22.x' },
    timeout: UNPACK_TIMEOUT_MS,
  });
}

/** The package's own configuration names the folder `/tmp`. */
function fontsIn(home: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(home, 'fonts')}</dir>
  <cachedir>${join(home, 'fonts-cache')}</cachedir>
</fontconfig>
`;
}
