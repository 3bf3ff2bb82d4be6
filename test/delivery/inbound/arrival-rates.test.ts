// Mails to inboxes are limited for each sender and inbox, and for each network.
import { expect, it } from '@jest/globals';
import { createArrivalRates, type MaxMails } from '../../../src/delivery/inbound/arrival-rates.ts';

let nowMs = 0;
const rates = (max: Partial<MaxMails>) =>
  createArrivalRates({ senderPerMinute: 0, networkPerMinute: 0, ...max }, () => nowMs);
const mail = { network: '192.0.2.1', sender: 'ann@example.com', inboxId: 1 };
/** Sends mails until one is refused. @returns how many were admitted */
function admitted(limited: ReturnType<typeof rates>, changes: Partial<typeof mail> = {}): number {
  for (let count = 0; count < 100; count += 1) if (!limited.admit({ ...mail, ...changes })) return count;
  return Infinity;
}

it('limits a sender for one inbox, and admits more after a while', () => {
  const limited = rates({ senderPerMinute: 6 });
  expect(admitted(limited)).toBe(6);
  expect(admitted(limited, { sender: 'Ann@Example.com', network: '192.0.2.2' })).toBe(0);
  expect(admitted(limited, { inboxId: 2 })).toBe(6);
  expect(admitted(limited, { sender: 'bob@example.com' })).toBe(6);
  nowMs += 20_000;
  expect(admitted(limited)).toBe(2);
});

it('limits the null return path for each network', () => {
  const limited = rates({ senderPerMinute: 6 });
  expect(admitted(limited, { sender: '' })).toBe(6);
  expect(admitted(limited, { sender: '', network: '192.0.2.2' })).toBe(6);
});

it('limits a network, whatever senders it names', () => {
  const limited = rates({ senderPerMinute: 6, networkPerMinute: 10 });
  expect(admitted(limited)).toBe(6);
  expect(admitted(limited, { sender: 'bob@example.com' })).toBe(3);
  expect(admitted(limited, { network: '192.0.2.2', sender: 'eve@example.com' })).toBe(6);
});

it('has no limit of 0', () => {
  expect(admitted(rates({}))).toBe(Infinity);
});
