import { createSocket, type RemoteInfo } from 'node:dgram';
import dnsPacket from 'dns-packet';

/** The records of a name. A TXT record is one string or several; a long text becomes several. */
export interface TestRecords {
  A?: string[];
  AAAA?: string[];
  TXT?: (string | string[])[];
  MX?: { exchange: string; preference: number }[];
  CNAME?: string;
}

/** By name in lower case: its records, or how the server fails to answer. */
type Zone = Record<string, TestRecords | 'servfail' | 'refused' | 'silent'>;

/** A DNS server on loopback. A test may change its zone at any time. */
export interface TestDnsServer {
  /** The value for DNS_SERVERS. */
  address: string;
  zone: Zone;
  /** Whether it follows CNAME records, like recursive servers do; true by default. */
  recursive: boolean;
  /** The questions so far, such as `A receiver.test`. */
  questions: string[];
  close(): void;
}

const failures = { servfail: 2, silent: 2, refused: 5 } as const;
const NXDOMAIN = 3;
const MAX_CNAMES = 16;

interface Reply {
  rcode: number;
  answers: dnsPacket.Answer[];
}

/** A character-string has at most 255 octets (RFC 1035 §3.3). */
function stringsOf(text: string | string[]): string[] {
  return [text].flat().flatMap((part) => part.match(/.{1,255}/gs) ?? ['']);
}

function recordsOf(records: TestRecords, name: string, type: string): dnsPacket.Answer[] {
  const shared = { name, ttl: 0 };
  switch (type) {
    case 'A':
    case 'AAAA':
      return (records[type] ?? []).map((data) => ({ ...shared, type, data }));
    case 'TXT':
      return (records.TXT ?? []).map((data) => ({ ...shared, type, data: stringsOf(data) }));
    case 'MX':
      return (records.MX ?? []).map((data) => ({ ...shared, type, data }));
    case 'CNAME':
      return records.CNAME === undefined ? [] : [{ ...shared, type, data: records.CNAME }];
    default:
      return [];
  }
}

function replyTo({ zone, recursive }: TestDnsServer, name: string, type: string, hops = 0): Reply {
  const records = zone[name.toLowerCase()];
  if (records === undefined) return { rcode: NXDOMAIN, answers: [] };
  if (typeof records === 'string') return { rcode: failures[records], answers: [] };
  const answers = recordsOf(records, name, type);
  if (records.CNAME === undefined || type === 'CNAME') return { rcode: 0, answers };
  if (hops === MAX_CNAMES) return { rcode: failures.servfail, answers: [] };
  const alias = recordsOf(records, name, 'CNAME');
  if (!recursive) return { rcode: 0, answers: alias };
  const target = replyTo({ zone, recursive } as TestDnsServer, records.CNAME, type, hops + 1);
  return { rcode: target.rcode, answers: [...alias, ...target.answers] };
}

/** @param zone names in lower case */
export async function startDnsServer(zone: Zone = {}): Promise<TestDnsServer> {
  const socket = createSocket('udp4');
  const server: TestDnsServer = {
    address: '',
    zone,
    recursive: true,
    questions: [],
    close: () => socket.close(),
  };
  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    const query = dnsPacket.decode(message);
    const question = query.questions?.[0];
    if (!question) return;
    server.questions.push(`${question.type} ${question.name}`);
    if (server.zone[question.name.toLowerCase()] === 'silent') return;
    const { rcode, answers } = replyTo(server, question.name, question.type);
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
