import { api, call } from '../api/client.ts';
import { messageOf } from '../api/errors.ts';
import { toast } from '../ui/toasts.tsx';
import { forgetUsers } from './user-storage.ts';

export async function signOut(): Promise<void> {
  try {
    await call(() => api.DELETE('/v1/my/session'));
  } catch (error) {
    toast(`You are still signed in: ${messageOf(error)}`, { tone: 'bad' });
    return;
  }
  forgetUsers();
  // Everything that was loaded must be removed with the session.
  globalThis.location.assign('/console/sign-in');
}
