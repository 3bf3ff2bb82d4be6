import { createSocket, type RemoteInfo } from 'node:dgram';
import dnsPacket from 'dns-packet';

/** Per name: its addresses by type, or how the server fails to answer. */
type Zone = Record<string, { A?: string[]; AAAA?: string[] } | 'servfail' | 'silent'>;

/** A DNS server on loopback. A test may change its zone at any time. */
export interface TestDnsServer {
  /** The value for DNS_SERVERS. */
  address: string;
  zone: Zone;
  /** The questions so far, such as `A receiver.test`. */
  questions: string[];
  close(): void;
}

const SERVFAIL = 2;
const NXDOMAIN = 3;

function answersOf(zone: Zone, question: dnsPacket.Question): { rcode: number; answers: dnsPacket.Answer[] } {
  const records = zone[question.name.toLowerCase()];
  if (records === undefined) return { rcode: NXDOMAIN, answers: [] };
  if (records === 'servfail' || records === 'silent') return { rcode: SERVFAIL, answers: [] };
  const type = question.type === 'AAAA' ? 'AAAA' : 'A';
  const data = question.type === type ? (records[type] ?? []) : [];
  return { rcode: 0, answers: data.map((each) => ({ type, name: question.name, ttl: 0, data: each })) };
}

/** @param zone names in lower case */
export async function startDnsServer(zone: Zone = {}): Promise<TestDnsServer> {
  const socket = createSocket('udp4');
  const server: TestDnsServer = { address: '', zone, questions: [], close: () => socket.close() };
  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const query = dnsPacket.decode(message);
    const question = query.questions?.[0];
    if (!question) return;
    server.questions.push(`${question.type} ${question.name}`);
    if (server.zone[question.name.toLowerCase()] === 'silent') return;
    const { rcode, answers } = answersOf(server.zone, question);
    const flags = dnsPacket.AUTHORITATIVE_ANSWER | rcode;
    socket.send(
      dnsPacket.encode({ type: 'response', id: query.id ?? 0, flags, questions: [question], answers }),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  server.address = `127.0.0.1:${socket.address().port}`;
  return server;
}
