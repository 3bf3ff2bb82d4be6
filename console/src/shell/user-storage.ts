/** What a browser keeps for one user until they sign out, in all its tabs. */
const PREFIX = 'carillon.user.';

/** Returns the key of an entry. */
export const userKey = (userId: number, name: string): string => `${PREFIX}${userId}.${name}`;

/** @returns whether it is kept: the storage may be full */
export function keepForUser(key: string, text: string, storage: Storage = localStorage): boolean {
  try {
    storage.setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

/** Removes what is kept for users. */
export function forgetUsers(storage: Storage = localStorage): void {
  for (const key of Object.keys(storage)) if (key.startsWith(PREFIX)) storage.removeItem(key);
}
