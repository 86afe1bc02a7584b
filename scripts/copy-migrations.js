// The compiler copies no SQL: the migrations go beside the code that runs them.
import { cpSync } from 'node:fs';

cpSync('src/database/migrations', 'dist/database/migrations', { recursive: true });
