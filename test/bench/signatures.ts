import { createPrivateKey, hash, sign } from 'node:crypto';
import { type DkimKey, generateDkimKey } from '../../src/delivery/content/dkim/sign.ts';
import { rounded } from './machine.ts';

/** A signature covers some 1,500 characters of header fields. */
const SIGNED_CHARACTERS = 1_500;

/** Generates the two keys with which a message is signed. */
export async function generateKeys(domain: string): Promise<DkimKey[]> {
  const algorithms = ['rsa', 'ed25519'] as const;
  return Promise.all(
    algorithms.map((algorithm) => generateDkimKey({ domain, selector: `crl-12-${algorithm}`, algorithm })),
  );
}

/** Calibrates signatures: signs for each message with each key, and does nothing else. Uses only this thread. */
export function bareSignatures(keys: readonly DkimKey[], messages: number) {
  const headers = 'x'.repeat(SIGNED_CHARACTERS);
  const privateKeys = keys.map(({ privateKeyPem }) => createPrivateKey(privateKeyPem));
  const before = process.cpuUsage();
  for (let n = 0; n < messages; n += 1) {
    for (const key of privateKeys) {
      const data = Buffer.from(`${headers}${n}`);
      if (key.asymmetricKeyType === 'rsa') sign('sha256', data, key);
      else sign(null, hash('sha256', data, 'buffer'), key);
    }
  }
  const { user, system } = process.cpuUsage(before);
  return { cpu_us_per_message: rounded((user + system) / messages) };
}
