/** Programs that send mail, what each of them is asked to send, and dialogues that were recorded with them. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Turn } from './recorder.ts';

const pathOf = (name: string) => fileURLToPath(new URL(`./${name}`, import.meta.url));

/** The folder of what all programs send. */
export const contentFolder = pathOf('content');
export const certificateAuthority = pathOf('../smtp/tls/ca.pem');

/** The send-only key with which the programs log in. Only tests know it. */
export const MAILER_KEY = 'crl_send_QXO89XRUnnLRUAesPJpRj6AuwWlU1hfmFPTGZ9Cwxv00Dn3b2';

/** A text, an HTML with a text and an inline image, a text with a PDF, and a text with an invitation. */
export const mailKinds = ['text', 'image', 'pdf', 'invitation'] as const;
export type MailKind = (typeof mailKinds)[number];

interface NamedAddress {
  name: string;
  address: string;
}

export interface MailerContent {
  from: NamedAddress;
  to: NamedAddress[];
  cc: NamedAddress[];
  bcc: string;
  subject: string;
  text: string;
  html: string;
  pdfName: string;
}

export const mailerContent = JSON.parse(
  readFileSync(`${contentFolder}/message.json`, 'utf8'),
) as MailerContent;

/** Programs, each by what comes before the arguments that all have. */
export const recordedPrograms = {
  phpmailer: ['php', pathOf('programs/phpmailer.php')],
  'symfony-mailer': ['php', pathOf('programs/symfony-mailer.php')],
  'ruby-mail': ['ruby', pathOf('programs/ruby-mail.rb')],
  django: ['/usr/bin/python3', pathOf('programs/django-mail.py')],
} satisfies Record<string, string[]>;

export type RecordedProgram = keyof typeof recordedPrograms;

export const smtplibProgram = ['python3', pathOf('programs/smtplib-mail.py')];

/** The command that sends a mail to a port of localhost. */
export const argumentsOf = (program: readonly string[], port: number, kind: MailKind): string[] => [
  ...program,
  ...[String(port), kind, MAILER_KEY, contentFolder, certificateAuthority],
];

/** By the kind of the mail. */
export type Recording = Record<MailKind, Turn[]>;

export const recordingPath = (program: RecordedProgram) => pathOf(`recordings/${program}.json`);

export const readRecording = (program: RecordedProgram): Recording =>
  JSON.parse(readFileSync(recordingPath(program), 'utf8')) as Recording;
