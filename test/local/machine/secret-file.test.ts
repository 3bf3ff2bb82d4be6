// Concurrent callers that create the same secret file all get the same secret.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { keptSecret } from '../../../src/local/machine/secret-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'carillon-secret-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a secret in a file', () => {
  it('is the same for all concurrent callers', async () => {
    const path = join(folder, 'secret');
    const secrets = await Promise.all(Array.from({ length: 20 }, () => keptSecret(path)));
    expect(new Set(secrets).size).toBe(1);
    expect(secrets[0]).toMatch(/^[\w-]{43}$/);
    expect(await keptSecret(path)).toBe(secrets[0]);
  });
});
