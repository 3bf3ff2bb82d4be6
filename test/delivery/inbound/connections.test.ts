// The listener limits connections by network, and ends those that do not reach DATA in time.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type ConnectionLimits, createConnectionLimits } from '../../../src/delivery/inbound/connections.ts';

const limits = () => createConnectionLimits({ perNetwork: 1, untilDataMs: 120_000, lifetimeMs: 900_000 });

/** Admits a socket of a client that no proxy announced. */
const admit = (connections: ConnectionLimits, socket: ReturnType<typeof socketFrom>) =>
  connections.admit(socket, socket);

/** A fake of the part of a socket that the limits use. */
function socketFrom(remoteAddress: string, remotePort = 1_024) {
  const socket = Object.assign(new EventEmitter(), { remoteAddress, remotePort, destroy: jest.fn() });
  return socket as typeof socket & Socket;
}

describe('connections of a network', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1', true],
    ['::ffff:192.0.2.1', '192.0.2.1', true],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['2001:db8:1:1::1', '2001:db8:1:ffff::2', true],
    ['2001:db8:1::1', '2001:db8:2::1', false],
  ])('from %s count for %s: %s', (open, address, together) => {
    const connections = limits();
    admit(connections, socketFrom(open));
    admit(connections, socketFrom(open));
    expect(connections.exceeded(address)).toBe(together);
  });
});

describe('the time until DATA', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('does not end while a message is received, and begins again after it', () => {
    const connections = limits();
    const socket = socketFrom('::ffff:192.0.2.1', 4_000);
    const client = { remoteAddress: '192.0.2.1', remotePort: 4_000 };
    admit(connections, socket);
    jest.advanceTimersByTime(119_000);
    connections.dataBegan(client);
    jest.advanceTimersByTime(300_000);
    connections.dataEnded(client);
    jest.advanceTimersByTime(119_000);
    expect(socket.destroy).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1_000);
    expect(socket.destroy).toHaveBeenCalledTimes(1);
  });

  it('ends with the connection', () => {
    const connections = limits();
    const socket = socketFrom('192.0.2.1');
    admit(connections, socket);
    socket.emit('close');
    expect(jest.getTimerCount()).toBe(0);
    expect(connections.exceeded('192.0.2.1')).toBe(false);
  });
});
