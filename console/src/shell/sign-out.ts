import { api, call } from '../api/client.ts';

export async function signOut(): Promise<void> {
  await call(() => api.DELETE('/v1/my/session'));
  // Everything that was loaded must go with the session.
  globalThis.location.assign('/console/sign-in');
}
