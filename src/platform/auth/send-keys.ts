import { AppError } from '../../errors.ts';
import { type AccountTenant, sendKeyOf } from './tenant.ts';

/** @throws AppError forbidden for a send-only key */
export function refuseSendKey(caller: Pick<AccountTenant, 'actor'>): void {
  if (sendKeyOf(caller) === null) return;
  throw new AppError('forbidden', 'this key can only send messages and read what it sent');
}
