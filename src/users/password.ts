import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';

/** RFC 9106's second recommendation for memory-bound hosts (OWASP: 19 MiB, 2 passes, 1 lane). */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** @returns an argon2id hash in PHC form; some 20 ms in the thread pool */
export function hashPassword(password: string): Promise<string> {
  return hash(password, COST);
}

export async function verifyPassword(passwordHash: string, password: string): Promise<boolean> {
  try {
    return await verify(passwordHash, password);
  } catch {
    return false;
  }
}

/** Easy to copy, 120 random bits. */
export function generatePassword(): string {
  return randomBytes(15).toString('base64url');
}
