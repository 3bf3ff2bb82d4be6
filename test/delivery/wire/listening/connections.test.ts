// Listeners limit connections by network and in total, and end those that do not reach DATA in time.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createConnectionLimits } from '../../../../src/delivery/wire/listening/connections.ts';

/** Limits whose connections say what became of them. */
function limits({ total = 100, perNetwork = 100 } = {}) {
  const ended: string[] = [];
  const connections = createConnectionLimits({
    total,
    perNetwork,
    untilDataMs: 120_000,
    lifetimeMs: 900_000,
    report: () => undefined,
  });
  const admit = (id: string, remoteAddress = '192.0.2.1') =>
    connections.admit({
      id,
      remoteAddress,
      close: () => void ended.push(`${id} made room`),
      destroy: () => void ended.push(`${id} was late`),
    });
  return { connections, admit, ended };
}

describe('connections of a network', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1', true],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['2001:db8:1:1::1', '2001:db8:1:ffff::2', true],
    ['2001:db8:1::1', '2001:db8:2::1', false],
  ])('from %s count for %s: %s', (open, address, together) => {
    const { admit, ended } = limits({ perNetwork: 1 });
    admit('first', open);
    admit('second', address);
    expect(ended).toEqual(together ? ['first made room'] : []);
  });

  it('take no place of others', () => {
    const { admit, ended } = limits({ total: 3, perNetwork: 2 });
    admit('genuine', '198.51.100.7');
    for (const id of ['a', 'b', 'c', 'd']) admit(id);
    expect(ended).toEqual(['a made room', 'b made room']);
  });
});

describe('beyond the limit', () => {
  it('the connection whose last message is the longest ago makes room', () => {
    const { connections, admit, ended } = limits({ total: 3 });
    for (const id of ['a', 'b', 'c']) admit(id);
    connections.dataBegan('a');
    connections.dataEnded('a');
    for (const id of ['d', 'e', 'f']) admit(id);
    expect(ended).toEqual(['b made room', 'c made room', 'a made room']);
  });

  it('no connection that is sending a message makes room', () => {
    const { connections, admit, ended } = limits({ total: 2 });
    for (const id of ['a', 'b']) {
      admit(id);
      connections.dataBegan(id);
    }
    expect(admit('c')).toBe(false);
    expect(ended).toEqual([]);
    connections.closed('a');
    expect(admit('d')).toBe(true);
  });
});

describe('the time until DATA', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('does not end while a message is received, and begins again after it', () => {
    const { connections, admit, ended } = limits();
    admit('a');
    jest.advanceTimersByTime(119_000);
    connections.dataBegan('a');
    jest.advanceTimersByTime(300_000);
    connections.dataEnded('a');
    jest.advanceTimersByTime(119_000);
    expect(ended).toEqual([]);
    jest.advanceTimersByTime(1_000);
    expect(ended).toEqual(['a was late']);
  });

  it('ends with the connection', () => {
    const { connections, admit } = limits();
    admit('a');
    connections.closed('a');
    expect(jest.getTimerCount()).toBe(0);
  });
});
