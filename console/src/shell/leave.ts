import { redirect } from '@tanstack/react-router';

/** Leaves a route for another one before it is shown. @param to a path of the console */
export function leave(to: string, search: Record<string, string> = {}): never {
  redirect({ to, search, throw: true });
  throw new Error('a redirect did not leave the route');
}
