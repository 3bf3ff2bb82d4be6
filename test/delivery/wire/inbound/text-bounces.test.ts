// Bounces that are text for people are read by words that their program writes only for a final failure.
import { expect, it } from '@jest/globals';
import { reportedBounce } from '../../../../src/delivery/terms/bounces.ts';
import { readReport } from '../../../../src/delivery/wire/inbound/report.ts';

// Rebuilt from the forms of public sets of bounces: https://github.com/sisimai/set-of-emails,
// https://github.com/cfortune/PHP-Bounce-Handler and https://github.com/mailtop/bounce_email.
const forms: [string, string, string, string?][] = [
  [
    'qmail, in words of its operator',
    'No se pudo entregar.\n\n<ann@example.com>:\nSorry, no mailbox here by that name. (#5.1.1)\n\n--- Copia',
    'hard no_such_mailbox',
    'Subject: failure notice',
  ],
  [
    'qmail, a full mailbox in Spanish',
    '<ann@example.com>:\nEspacio en casilla de mail agotado.\n',
    'soft mailbox_full',
    'Subject: failure notice',
  ],
  [
    'qmail, an expired mailbox in Spanish',
    '<ann@example.com>:\nEsta casilla ha expirado por falta de uso.\n',
    'hard mailbox_disabled',
    'Subject: failure notice',
  ],
  [
    'Gmail before 2009',
    'This is an automatically generated Delivery Status Notification\n\nDelivery to the following recipient failed permanently:\n\n     ann@example.com\n\nTechnical details of permanent failure: \nPERM_FAILURE: SMTP Error (state 9): 550 5.7.1 Your message was blocked by a DNSBL\n\n   ----- Original message -----\n',
    'uncounted blocked',
  ],
  [
    'Gmail before 2009, without details',
    'This is an automatically generated Delivery Status Notification\n\nDelivery to the following recipient failed permanently:\n\n     ann@example.com\n\n   ----- Original message -----\n',
    'uncounted other',
  ],
  [
    'GMX, an expiry',
    'This message was created automatically by mail delivery software.\n\nA message that you sent could not be delivered to one or more of\nits recipients. This is a permanent error. The following address\nfailed:\n\n<ann@example.com>\n\nReason:\ndelivery retry timeout exceeded\n',
    'uncounted other',
  ],
  [
    'Postfix before 2.3',
    "This is the Postfix program at host mx.example.com.\n\nI'm sorry to have to inform you that the message returned\nbelow could not be delivered to one or more destinations.\n\n<ann@example.com>: host mx.example.net[192.0.2.1] said: 550 5.1.1\n    User unknown (in reply to RCPT TO command)\n",
    'hard no_such_mailbox',
  ],
  [
    'CommuniGate Pro',
    "Failed to deliver to 'ann@example.com'\nSMTP module(domain example.com) reports:\n host mx.example.com says:\n 550 ann@example.com unknown user account\n",
    'hard no_such_mailbox',
  ],
  [
    'MailFoundry',
    'Unable to deliver message to: <ann@example.com>\nDelivery failed for the following reason:\nServer mx.example.com[192.0.2.1] failed with: 550 <ann@example.com> No such user here\n\nThis has been a permanent failure.  No further delivery attempts will be made.\n',
    'hard no_such_mailbox',
  ],
  [
    'MailFoundry, a full mailbox with the code of an unknown one',
    'Unable to deliver message to: <ann@example.com>\nDelivery failed for the following reason:\nmx.example.com responded with failure: 552 sorry, mailbox is over quota temporarily (#5.1.1)\n\nThis has been a permanent failure. No further delivery attempts will be made.\n',
    'soft mailbox_full',
  ],
  [
    'MailMarshal',
    'Your message:\n   From:    a@example.net\n\nCould not be delivered because of\n\n550 5.1.1 User unknown\n\nThe following recipients were affected: \n    ann@example.com\n',
    'hard no_such_mailbox',
  ],
  [
    'Sun Messaging Server and PMDF',
    'Your message cannot be delivered to the following recipients:\n\n  Recipient address: ann@example.com\n  Reason: Remote SMTP server has rejected address\n  Diagnostic code: smtp; 550 5.1.1 unknown or illegal alias\n  Remote system: dns; mx.example.com\n',
    'hard no_such_mailbox',
  ],
  [
    'Mimecast',
    'This is an automated alert notification. Please do not reply.\n\nAn email that you attempted to send to the following address could not be delivered:\n\n-- ann@example.com\n\nAdditional information follows :\n\n-- 5.4.1 Recipient address rejected: Access denied. [ABC.prod.outlook.com]\n\nThis condition occurred after 1 attempt(s)\n',
    'hard no_such_mailbox',
  ],
  [
    'Domino',
    'Your message\n\n  Subject: Hello\n\nwas not delivered to:\n\n  ann@example.com\n\nbecause:\n\n  User ann (ann@example.com) not listed in Domino Directory\n',
    'hard no_such_mailbox',
  ],
  [
    'Mail2000',
    'The original message was received at Mon, 2 Mar 2026\nfrom a@example.net\n\n---The following addresses had delivery errors---\n\nann@example.com [User unknown]\n',
    'hard no_such_mailbox',
  ],
  [
    'SPAMSNIPER',
    'NOTICE: Delivery Failure.\n\nYour delivery to the following address has been failed.\n\nRemote host said[Response Message]: 554 5.4.14 Hop count exceeded\nSTEP: DATA SEND\n',
    'uncounted other',
  ],
  [
    'an appliance that gives technical details',
    '====================\n      This is an automatically generated Delivery Status Notification.      \n\nDelivery to the following recipients failed permanently:\n\n   * ann@example.com\n\n====================\n     Technical details:     \n\nSMTP:RCPT host 192.0.2.8: 553 5.3.0 <ann@example.com>... No such user here\n\n====================\n',
    'hard no_such_mailbox',
  ],
  [
    'an appliance that counts errors',
    'We had trouble delivering your message. Full details follow:\n\n1 error(s):\n\nSMTP Server <mx.example.com> rejected recipient <ann@example.com> (Error following RCPT command). It responded as follows: [550 5.1.1 User unknown]\n',
    'hard no_such_mailbox',
  ],
  [
    'Postfix with the words of an operator',
    'К сожалению, Ваше письмо не может быть отправлено.\n\n<ann@example.com>: host mx.example.com[192.0.2.1] said: 550 5.1.1\n    User unknown (in reply to RCPT TO command)\n',
    'hard no_such_mailbox',
  ],
  [
    'Postfix with the words of an operator, for a policy',
    'Details are as follows:\n\n<ann@example.com>: host mx.example.com[192.0.2.1] said:\n    554 5.7.1 Blocked (in reply to RCPT TO command)\n',
    'uncounted blocked',
  ],
  [
    'QQ Mail',
    '抱歉，您的邮件被退回来了……\n\n收件人：ann@example.com\n退信原因：收件人邮件地址（ann@example.com）不存在，邮件无法送达。\nhost mx.example.com[192.0.2.1] said: 550 Mailbox not found\n',
    'hard no_such_mailbox',
  ],
  [
    'NetEase',
    '抱歉，您的来信被退回\n\n收件人 ann@example.com\n退信原因 SMTP error, RCPT TO: Host example.com(192.0.2.1) said 550 User not found\n',
    'hard no_such_mailbox',
  ],
  [
    'InterScan',
    'Sent <<< RCPT TO:<ann@example.com>\nReceived >>> 550 5.1.1 <ann@example.com>... user unknown\n',
    'hard no_such_mailbox',
  ],
  [
    'Apache James and vtext.com',
    'Error: Invalid user address\n\nError message below:\n550 - Requested action not taken: no such user here\n\nMessage details:\n',
    'hard no_such_mailbox',
  ],
  [
    'au one net',
    'Your mail sent on: Thu, 29 Apr 2013 00:00:00 +0900 \n     Could not be delivered to: <ann@example.com> \n     As their mailbox is full.\n',
    'soft mailbox_full',
  ],
  [
    'EZweb',
    'Each of the following recipients was rejected by a remote\nmail server.\n\n    Recipient: <ann@example.com>\n    >>> RCPT TO:<ann@example.com>\n    <<< 550 <ann@example.com>: User unknown\n',
    'hard no_such_mailbox',
  ],
  [
    'EZweb, a closed account',
    'The user(s) account is disabled.\n\n<ann@example.com>\n',
    'hard mailbox_disabled',
  ],
  [
    'EZweb, a limited account',
    'The user(s) account is temporarily limited.\n\n<ann@example.com>\n',
    'uncounted other',
  ],
  [
    'BIGLOBE',
    "   ----- The following addresses had delivery problems -----\nann@example.com\n\n   ----- Non-delivered information -----\nThe number of messages in recipient's mailbox exceeded the local limit.\n",
    'soft mailbox_full',
  ],
  ['IMail', "User's mailbox is full: <ann@example.com>\nUnable to deliver mail.\n", 'soft mailbox_full'],
  [
    'RS, a full mailbox',
    'Delivery of email to this address\n\n"ann@example.com"\n\nhas failed due to a full mailbox.  We have already made numerous\nattempts\n',
    'soft mailbox_full',
  ],
  [
    'Smail',
    '|------------------------- Message log follows: -------------------------|\n no valid recipients were found for this message\n|------------------------- Failed addresses follow: ---------------------|\n ann@example.com ... unknown host\n',
    'soft no_such_domain',
  ],
  [
    'a delivery status notification whose parts cannot be told apart',
    'This is a MIME-encapsulated message.\n\n--other\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.com\n\nFinal-Recipient: rfc822; ann@example.com\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 User unknown\n\n--other--\n',
    'hard no_such_mailbox',
    'Content-Type: multipart/report; boundary=one',
  ],
];

const read = (text: string, header: string) =>
  readReport({
    head: Buffer.from(`From: MAILER-DAEMON@mx.example.com\n${header}\n\n${text}`.replaceAll('\n', '\r\n')),
    envelopeFrom: '',
    feedbackLoop: false,
  });

it.each(forms)('reads %s', async (_program, text, expected, header = 'Subject: Undeliverable') => {
  const report = await read(text, header);
  if (report.kind !== 'failed') throw new Error(`the report is ${JSON.stringify(report)}`);
  const { bounce, suppresses } = reportedBounce(report.refusal);
  expect(`${suppresses ? bounce.type : 'uncounted'} ${bounce.subtype}`).toBe(expected);
});

// A warning says that the server goes on trying, also if it quotes a refusal.
it.each([
  [
    'Exim',
    'This message was created automatically by mail delivery software.\nA message that you sent has not yet been delivered to one or more of its\nrecipients after more than 72 hours on the queue on mx.example.com.\n\n  ann@example.com\n    Delay reason: SMTP error from remote mail server after RCPT TO: 450 4.1.1 User unknown\n\nNo action is required on your part. Delivery attempts will continue for\nsome time\n',
  ],
  [
    'Gmail',
    'This is an automatically generated Delivery Status Notification\n\nTHIS IS A WARNING MESSAGE ONLY.\n\nYOU DO NOT NEED TO RESEND YOUR MESSAGE.\n\nDelivery to the following recipient has been delayed:\n\n     ann@example.com\n\nMessage will be retried for 2 more day(s)\n',
  ],
  [
    'OpenSMTPD',
    '    Hi!\n\n    This is the MAILER-DAEMON, please DO NOT REPLY to this e-mail.\n\n    A message is delayed for more than 10 minutes for the following\n    list of recipients:\n\nann@example.com: 550 5.1.1 User unknown\n\n    Please note that this is only a temporary failure report.\n',
  ],
  [
    'Postfix',
    'This is the mail system at host mx.example.com.\n\n####################################################################\n# THIS IS A WARNING ONLY.  YOU DO NOT NEED TO RESEND YOUR MESSAGE. #\n####################################################################\n\nYour message could not be delivered for more than 4 hour(s).\nIt will be retried until it is 5 day(s) old.\n\n<ann@example.com>: host mx.example.net said: 450 4.1.1 User unknown\n',
  ],
  [
    'Postfix that repeats all replies (`soft_bounce`)',
    'This is the mail system at host mx.example.com.\n\n# THIS IS A WARNING ONLY.  YOU DO NOT NEED TO RESEND YOUR MESSAGE. #\n\n<ann@example.com>: host mx.example.net[192.0.2.1] said: 550 5.1.1 User unknown (in reply to RCPT TO command)\n',
  ],
  [
    'Sendmail',
    '    **********************************************\n    **      THIS IS A WARNING MESSAGE ONLY      **\n    **  YOU DO NOT NEED TO RESEND YOUR MESSAGE  **\n    **********************************************\n\n   ----- The following addresses had transient non-fatal errors -----\n<ann@example.com>\n\n   ----- Transcript of session follows -----\n450 4.1.1 User unknown\n',
  ],
])('takes a warning of %s for what it is', async (_program, text) => {
  expect(await read(text, 'Subject: Warning')).toEqual({ kind: 'none', reason: 'no_outcome' });
});
