import type { Schemas } from '../../api/client.ts';
import type { Role } from '../../api/session.ts';

export type NewInvitation = Schemas['NewInvitation'];

/** From the least to the most. */
const ROLES: readonly Role[] = ['member', 'admin', 'owner'];

/** The roles that a user may grant: none above their own. */
export const grantable = (own: Role): readonly Role[] => ROLES.slice(0, ROLES.indexOf(own) + 1);

export const isRole = (text: string): text is Role => ROLES.some((role) => role === text);
