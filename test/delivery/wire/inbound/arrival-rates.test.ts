// Mails to inboxes are limited for each sender of a network and inbox, and for each network.
import { expect, it } from '@jest/globals';
import { createArrivalRates, type MaxMails } from '../../../../src/delivery/wire/inbound/arrival-rates.ts';

let nowMs = 0;
const rates = (max: Partial<MaxMails>) =>
  createArrivalRates({ senderPerMinute: 0, networkPerMinute: 0, ...max }, () => nowMs);
const mail = { network: '192.0.2.1', ip: '192.0.2.1', sender: 'ann@example.com', inboxId: 1 };
const from = (ip: string) => ({ network: ip, ip });

/** Sends mails until one is refused. @returns how many were stored */
function stored(limited: ReturnType<typeof rates>, changes: Partial<typeof mail> = {}): number {
  for (let count = 0; count < 100; count += 1) {
    if (!limited.admit({ ...mail, ...changes })) return count;
    limited.count({ ...mail, ...changes });
  }
  return Infinity;
}

it('limits a sender for one inbox, and admits more after a while', () => {
  const limited = rates({ senderPerMinute: 6 });
  expect(stored(limited)).toBe(6);
  expect(stored(limited, { sender: 'Ann@Example.com' })).toBe(0);
  expect(stored(limited, { inboxId: 2 })).toBe(6);
  expect(stored(limited, { sender: 'bob@example.com' })).toBe(6);
  nowMs += 20_000;
  expect(stored(limited)).toBe(2);
});

it('limits the null return path for each network', () => {
  const limited = rates({ senderPerMinute: 6 });
  expect(stored(limited, { sender: '' })).toBe(6);
  expect(stored(limited, { sender: '', ...from('192.0.2.2') })).toBe(6);
});

it('does not limit a sender because another network names it', () => {
  const limited = rates({ senderPerMinute: 6 });
  expect(stored(limited, from('198.51.100.7'))).toBe(6);
  expect(stored(limited)).toBe(6);
});

it('does not limit a sender whom another client of the same server names', () => {
  const limited = rates({ senderPerMinute: 6 });
  const network = 'account 1';
  expect(stored(limited, { network, ip: '198.51.100.7' })).toBe(6);
  expect(stored(limited, { network, ip: '192.0.2.1' })).toBe(6);
});

it('counts only mails that were stored for their sender', () => {
  const limited = rates({ senderPerMinute: 6, networkPerMinute: 60 });
  for (let asked = 0; asked < 50; asked += 1) expect(limited.admit(mail)).toBe(true);
  expect(stored(limited)).toBe(6);
});

it('limits a network, whatever senders it names', () => {
  const limited = rates({ senderPerMinute: 6, networkPerMinute: 10 });
  expect(stored(limited)).toBe(6);
  expect(stored(limited, { sender: 'bob@example.com' })).toBe(3);
  expect(stored(limited, { ...from('192.0.2.2'), sender: 'eve@example.com' })).toBe(6);
});

it('has no limit of 0', () => {
  expect(stored(rates({}))).toBe(Infinity);
});
