// The replies of the large mailbox providers are classified as hard, soft or about the content.
import { describe, expect, it } from '@jest/globals';
import { classifyBounce, type Refusal, reportedBounce } from '../../../src/delivery/terms/bounces.ts';
import { refusalIn } from '../../../src/delivery/wire/inbound/delivery-status.ts';
import { smtpVerdict } from '../../../src/delivery/wire/providers/smtp/verdict.ts';

/** Reads `code enhanced text`, as in the first line of a reply. */
function refusal(reply: string, stage: Refusal['stage'] = 'rcpt'): Refusal {
  const [, code = '', enhanced, text = ''] = /^(\d{3}) (?:([245]\.\d+\.\d+) )?(.*)$/s.exec(reply) ?? [];
  return { code: Number(code), enhanced: enhanced ?? null, text, stage };
}

function verdictOf(reply: string, stage?: Refusal['stage']): string {
  const verdict = classifyBounce(refusal(reply, stage));
  return verdict.kind === 'bounce' ? `${verdict.bounce.type} ${verdict.bounce.subtype}` : verdict.kind;
}

describe('a refusal of a recipient', () => {
  it.each([
    // Gmail.
    [
      'hard no_such_mailbox',
      "550 5.1.1 The email account that you tried to reach does not exist. Please try double-checking the recipient's email address",
    ],
    [
      'hard mailbox_disabled',
      '550 5.2.1 The email account that you tried to reach is inactive. https://support.google.com/mail/?p=DisabledUser',
    ],
    [
      'soft other',
      '550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages from being delivered.',
    ],
    [
      'soft mailbox_full',
      "552 5.2.2 The recipient's inbox is out of storage space and inactive. Please direct the recipient to https://support.google.com/mail/?p=OverQuotaPerm",
    ],
    [
      'content_rejected',
      '550 5.7.1 Our system has detected that this message is likely unsolicited mail. To reduce the amount of spam sent to Gmail, this message has been blocked.',
    ],
    [
      'content_rejected',
      '550 5.7.26 This mail has been blocked because the sender is unauthenticated. Gmail requires all senders to authenticate with either SPF or DKIM.',
    ],
    [
      'content_rejected',
      '552 5.7.0 This message was blocked because its content presents a potential security issue.',
    ],
    ['content_rejected', '552 5.3.4 Your message exceeded Google’s message size limits.'],
    // Microsoft.
    [
      'hard no_such_mailbox',
      '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient ann@contoso.com not found by SMTP address lookup',
    ],
    ['hard no_such_mailbox', '550 5.1.1 RESOLVER.ADR.ExRecipNotFound; not found'],
    [
      'hard no_such_mailbox',
      '550 5.4.1 [ann@contoso.com]: Recipient address rejected: Access denied. For more information see https://aka.ms/EXOSmtpErrors [DB5EUR03FT042.eop-EUR03.prod.protection.outlook.com]',
    ],
    [
      'hard no_such_mailbox',
      '550 5.4.1 All recipient addresses rejected : Access denied [BL2NAM06.outlook.com]',
    ],
    ['rejected', '550 5.4.1 Relay Access Denied'],
    ['hard no_such_mailbox', '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).'],
    ['rejected', '550 5.5.0 Sender domain is empty'],
    [
      'content_rejected',
      '550 5.7.1 Unfortunately, messages from [192.0.2.1] weren’t sent. Please contact your Internet service provider since part of their network is on our block list (S3140).',
    ],
    [
      'soft mailbox_full',
      '554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException.MapiExceptionShutoffQuotaExceeded',
    ],
    ['soft no_such_domain', '550 5.4.310 DNS domain contoso.invalid does not exist'],
    ['expired', '550 5.4.300 Message expired'],
    // Yahoo and AOL.
    [
      'hard no_such_mailbox',
      "554 delivery error: dd This user doesn't have a yahoo.com account (ann@yahoo.com) [0] - mta1.mail.yahoo.com",
    ],
    [
      'hard mailbox_disabled',
      '554 30 Sorry, your message to ann@yahoo.com cannot be delivered. This mailbox is disabled (554.30).',
    ],
    ['hard no_such_mailbox', '552 1 Requested mail action aborted, mailbox not found'],
    ['rejected', '554 Message not allowed - [PH01] Email not accepted for policy reasons.'],
    [
      'content_rejected',
      '553 5.7.1 [BL21] Connections will not be accepted from 192.0.2.1, because the ip is in Spamhaus list',
    ],
    ['content_rejected', '554 5.7.9 Message not accepted for policy reasons.'],
    // Apple.
    ['hard no_such_mailbox', '550 5.1.1 unknown or illegal alias: ann@icloud.com'],
    ['hard moved', '550 5.1.6 recipient no longer on server: ann@mac.com'],
    ['soft mailbox_full', '552 5.2.2 <ann@icloud.com>: user is over quota'],
    // Postfix.
    [
      'hard no_such_mailbox',
      '550 5.1.1 <ann@example.com>: Recipient address rejected: User unknown in local recipient table',
    ],
    ['hard bad_address', '501 5.1.3 Bad recipient address syntax'],
    ['hard no_such_domain', '550 5.1.2 <ann@example.com>: Recipient address rejected: Domain not found'],
    [
      'hard no_such_domain',
      '556 5.1.10 <ann@example.com>: Recipient address rejected: Domain example.com does not accept mail (nullMX)',
    ],
    ['content_rejected', '554 5.7.1 <ann@example.com>: Relay access denied'],
    ['sender_rejected', '550 5.1.8 <b@mail.test>: Sender address rejected: Domain not found'],
    ['sender_rejected', '553 5.1.7 <b@mail.test>: Sender address rejected: bad syntax'],
    ['content_rejected', '552 5.2.3 message length exceeds administrative limit'],
    // Exim.
    ['hard no_such_mailbox', '550 Unrouteable address'],
    ['rejected', '550 relay not permitted'],
    ['rejected', '550 Verification failed for <b@mail.test>\nNo Such User Here\nSender verify failed'],
    ['soft mailbox_full', '550 Mailbox is full / quota exceeded'],
    // qmail, and servers that write the enhanced code into the text.
    ['hard no_such_mailbox', '550 sorry, no mailbox here by that name. (#5.1.1)'],
    ['content_rejected', "553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)"],
    ['soft mailbox_full', '550 Over quota (#5.2.2)'],
    ['hard no_such_mailbox', '550 #5.1.0 Address rejected.'],
    // Replies without a meaningful code.
    ['hard no_such_mailbox', '550 Requested action not taken: mailbox unavailable'],
    ['hard no_such_mailbox', '550 5.0.0 no'],
    ['hard no_such_mailbox', '550 <spam@policy.example>: not here'],
    ['hard no_such_mailbox', `550 <spam.${'a'.repeat(70)}@policy.example>: not here`],
    ['rejected', '550 Blocked: see https://www.spamhaus.org/query/ip/192.0.2.1'],
    ['rejected', '550 rejected because 192.0.2.1 is in a black list at zen.example'],
    ['rejected', '550 Administrative prohibition'],
    ['rejected', '550 Denied by policy'],
    ['rejected', '550 High probability of spam'],
    ['soft mailbox_full', '552 Requested mail action aborted: exceeded storage allocation'],
    ['soft mailbox_full', '552 try less'],
    ['content_rejected', '552 Message size exceeds fixed maximum message size'],
    ['rejected', '554 5.5.0 no'],
    ['rejected', '551 User not local; please try <ann@elsewhere.example>'],
  ])('is %s: %s', (expected, reply) => {
    expect(verdictOf(reply)).toBe(expected);
  });

  it.each([
    ['hard no_such_mailbox', '550 5.1.1 User unknown'],
    ['hard no_such_mailbox', '550 No such user'],
    ['soft mailbox_full', '552 5.2.2 Mailbox full'],
    ['rejected', '550 no'],
    ['content_rejected', '552 no'],
  ])('is %s in reply to the content: %s', (expected, reply) => {
    expect(verdictOf(reply, 'body')).toBe(expected);
  });

  it.each([
    ['rejected', '550 No such user'],
    ['rejected', '550 5.1.1 User unknown'],
    ['sender_rejected', '550 5.1.8 Domain not found'],
  ])('never bounces in reply to MAIL, which names no recipient: %s: %s', (expected, reply) => {
    expect(verdictOf(reply, 'mail')).toBe(expected);
  });

  it('keeps at most 500 storable characters', () => {
    const verdict = classifyBounce(refusal(`550 5.1.1 \0${'x'.repeat(487)}🎉`));
    const diagnostic = verdict.kind === 'bounce' ? verdict.bounce.diagnostic : '';
    expect(diagnostic).toHaveLength(499);
    expect(diagnostic).not.toContain('\0');
    expect(diagnostic.isWellFormed()).toBe(true);
  });
});

/** Relays and services report a status beside the reply of the last server, and derive it if the reply has none. */
describe('a status that a report adds to a reply', () => {
  it.each([
    // Derived from the reply code: the words decide.
    [
      'soft blocked, not counted',
      '5.1.3',
      '553 rejected, see http://blocklist.example/query?ip=192.0.2.1 (blocked)',
    ],
    ['soft blocked, not counted', '5.1.3', '553 sorry, your envelope sender is in my badmailfrom list'],
    ['soft blocked, not counted', '5.1.6', '551 sender rejected as spam'],
    ['soft other, not counted', '5.6.0', '554 transaction failed'],
    ['hard no_such_mailbox', '5.1.6', '551 not our customer'],
    ['hard no_such_mailbox', '5.1.3', '553 invalid recipient'],
    // Says no more than its class, or is not listed: the words decide.
    ['hard no_such_mailbox', '5.2.0', '550 Unknown user'],
    ['hard no_such_mailbox', '5.5.0', '550 5.5.0 Unknown user'],
    ['hard no_such_mailbox', '5.0.0', '550 5.0.0 No such user here'],
    ['hard no_such_mailbox', '5.1.351', 'Remote server returned unknown recipient or mailbox unavailable'],
    [
      'hard no_such_mailbox',
      '5.1.351',
      '550 5.1.351 Remote server returned unknown recipient -> 550 User unknown',
    ],
    ['soft other, not counted', '5.2.0', '550 Message filtered'],
    // The code of the reply decides, over the report's.
    ['soft blocked, not counted', '5.1.1', '550 5.7.1 Message refused'],
    ['hard no_such_mailbox', '5.7.1', '550 5.1.1 User unknown'],
    ['soft mailbox_full', '5.1.1', '552 5.2.2 Mailbox full'],
    ['soft mailbox_full', '5.1.1', '550 5.1.1 Mailbox is over quota'],
    ['soft mailbox_full', '5.2.1', '550 5.2.1 Mailbox full'],
    ['hard no_such_mailbox', '5.1.1', '550 5.1.1 User unknown or mailbox full'],
    // A status without a code in the reply decides.
    ['hard no_such_mailbox', '5.1.1', '550 rejected'],
    ['hard no_such_mailbox', '5.1.1', 'nonsense'],
    ['hard moved', '5.1.6', '550 gone'],
    ['soft mailbox_full', '5.2.2', '552 5.2.2 mailbox full'],
    // No recipient suffers for the size of a message, or for a policy.
    ['soft other, not counted', '5.2.2', '552 message size exceeds fixed maximum message size'],
    ['soft other, not counted', '5.2.2', '552 5.2.2 message size exceeds fixed maximum message size'],
    ['soft blocked, not counted', '5.1.1', '550 5.1.1 Access denied by policy'],
    ['soft blocked, not counted', '5.2.1', '550 5.2.1 Your IP is blacklisted'],
    ['hard no_such_mailbox', '5.1.1', '550 5.1.1 Blocked: user unknown'],
    ['soft other', '5.2.1', '550 5.2.1 The user is receiving mail at a rate that prevents more'],
  ])('is %s: %s, %s', (expected, status, diagnostic) => {
    const { bounce, suppresses } = reportedBounce(refusalIn(diagnostic, status));
    expect(`${bounce.type} ${bounce.subtype}${suppresses ? '' : ', not counted'}`).toBe(expected);
  });
});

describe('the words of a reply', () => {
  it.each([
    ['hard no_such_mailbox', '550 Benutzer unbekannt'],
    ['hard no_such_mailbox', '550 Adresse d au moins un destinataire invalide'],
    ['hard no_such_mailbox', '550 El usuario no existe'],
    ['hard no_such_mailbox', '550 utente sconosciuto'],
    ['hard no_such_mailbox', '550 Usuário inexistente'],
    ['hard no_such_mailbox', '550 gebruiker onbekend'],
    ['hard no_such_mailbox', '550 Nieznany użytkownik'],
    ['hard no_such_mailbox', '550 Пользователь не найден'],
    ['hard no_such_mailbox', '550 收件人不存在'],
    ['hard no_such_mailbox', '550 宛先が見つかりません'],
    ['soft mailbox_full', '554 Postfach voll'],
    ['soft mailbox_full', '554 Boîte aux lettres pleine'],
    ['soft mailbox_full', '554 Buzón lleno'],
    ['soft mailbox_full', '554 Casella piena'],
    ['soft mailbox_full', '554 Почтовый ящик переполнен'],
    ['soft mailbox_full', '554 邮箱已满'],
    ['hard mailbox_disabled', '554 Postfach gesperrt'],
    ['hard mailbox_disabled', '554 Boite du destinataire archivee'],
    ['hard mailbox_disabled', '554 Cuenta desactivada'],
    ['rejected', '554 Expéditeur refusé'],
    ['rejected', '554 Absender nicht akzeptiert: Benutzer unbekannt'],
    ['rejected', '554 垃圾邮件'],
  ])('are read in other languages: %s: %s', (expected, reply) => {
    expect(verdictOf(reply, 'report')).toBe(expected);
  });

  // The relay's own account, its limits, or a part of the message.
  it.each([
    '550 Your account is locked, contact support',
    '550 User acme has exceeded the hourly limit, sending disabled',
    '550 Outgoing mail for user acme is disabled',
    '554 The account you use to send is inactive',
    '554 This attachment name is invalid',
    '554 5.5.1 header field name is invalid',
    '554 5.5.1 Error: no valid recipients',
    '554 5.5.4 No user agent header',
    '554 5.5.2 Bad recipient header syntax',
    '550 Recipient requires TLS; certificate not found',
    '550 Invalid domain in HELO',
    '554 No MX record for your domain',
  ])('never suppress a recipient for a fault of the sender: %s', (reply) => {
    for (const stage of ['data', 'body', 'report'] as const) expect(verdictOf(reply, stage)).toBe('rejected');
  });

  it('do not make a bounce of a policy that has a code of its class only', () => {
    expect(verdictOf('550 5.7.0 Denied')).toBe('content_rejected');
  });
});

/** Words of refusals that are not the recipient's fault, with the codes of a missing or disabled mailbox. */
const innocent = [
  // Lists of addresses.
  'Nachricht abgelehnt: IP-Adresse steht auf einer Sperrliste',
  'Mensaje rechazado por la lista negra de IP',
  'Su IP está bloqueada',
  'Zpráva odmítnuta: IP adresa je na černé listině',
  'Wiadomość odrzucona, adres IP na czarnej liście',
  'Сообщение отклонено: ваш IP в черном списке',
  '您的IP地址被列入黑名单',
  'メールは拒否されました。IPアドレスがブラックリストに登録されています',
  'Mensagem recusada: IP na lista negra',
  'Messaggio rifiutato: IP in lista nera',
  'Message refusé : adresse IP sur liste noire',
  'Bericht geweigerd: IP-adres staat op zwarte lijst',
  'Mesaj reddedildi: IP adresiniz kara listede',
  'Viesti hylätty: IP-osoite estolistalla',
  // The message.
  'Nachricht gesperrt',
  'Mensagem bloqueada',
  'Messaggio bloccato',
  'Message bloqué par le filtre',
  'Bericht geblokkeerd',
  'Odmítnuto antispamem',
  'Wiadomość została zablokowana',
  'Письмо заблокировано политикой безопасности',
  '邮件被拒绝：发送频率过高',
  '受信拒否されました',
  'İleti engellendi',
  '메시지가 차단되었습니다',
  'Meddelandet blockerades',
  'Werbung wird nicht angenommen',
  'High probability of being bulk mail',
  'Recipient refused: content filter',
  'This message was classified as bulk/advertising',
  'message contains a URL that is listed',
  'Requested action not taken: mailbox unavailable. Message rejected as bulk (SFR)',
  'Requested action not taken: mailbox unavailable. invalid DNS MX or A/AAAA resource record',
  // The sender.
  'Domain of sender address does not exist',
  'The sending domain does not exist',
  'Callout verification failed: The address you sent from does not exist',
  'Message refused, could not verify your address: user does not exist (sender callout)',
  'Too much mail from your network, user not found in whitelist',
  'recipient only accepts mail from known contacts',
  'contact the administrator to be whitelisted',
  'mail from this country is not accepted',
  'ARC validation failed',
  'system not accepting network messages',
  'Reject due to domain restrictions',
  // Its size.
  'Message size exceeds limit',
  'Nachricht zu gross',
  // Other words of policies and sizes, and faults of the server.
  'Zugriff verweigert',
  'Accès refusé',
  'Acceso denegado',
  'Доступ запрещён',
  '访问被拒绝',
  'アクセスが拒否されました',
  'Trop de connexions',
  'Zu viele Verbindungen',
  'Слишком много сообщений',
  'Liste grise, réessayez',
  'Wiadomość jest za duża',
  'Bericht te groot',
  'メッセージが大きすぎます',
  '邮件大小超过限制',
  'Mesaj çok büyük',
  'Вирус обнаружен',
  '检测到病毒',
  'Anhang nicht erlaubt',
  'Pièce jointe interdite',
  'Local error in processing',
  'Insufficient system resources',
  'LDAP lookup failure',
  'service unavailable',
  'bounce address tag validation failed',
  'closed mailing list, members only',
  'Out of office until monday',
  'Сервер перегружен',
  'routing loop detected',
  'Connection dropped',
  // It passes.
  'Mailbox temporarily disabled, try again later',
  'account is temporarily locked',
  'Mailbox unavailable due to maintenance',
  'Server is too busy, try later',
  'Postfach vorübergehend nicht erreichbar',
  'Boîte aux lettres temporairement indisponible',
];

describe('a refusal with the code of a missing mailbox', () => {
  it.each(innocent)('suppresses none that the words excuse: %s', (words) => {
    const given = [`550 5.1.1 ${words}`, `550 5.2.1 ${words}`, `550 ${words}`].flatMap((reply) => [
      reportedBounce(refusal(reply, 'rcpt')),
      reportedBounce(refusalIn(reply, '5.1.1')),
    ]);
    const hard = given.filter(({ bounce }) => bounce.type === 'hard');
    expect(hard).toEqual([]);
  });

  it.each([
    'Message rejected: user unknown',
    'Nachricht abgelehnt: Empfänger unbekannt',
    'Message refusé : utilisateur inconnu',
    'Сообщение отклонено: пользователь не найден',
    'Requested action not taken: mailbox unavailable',
    'Mailbox not found, see https://postmaster.example/errors?ip=192.0.2.1',
  ])('suppresses one whose own fault the words name: %s', (words) => {
    expect(reportedBounce(refusalIn(`550 5.1.1 ${words}`, '5.1.1'))).toMatchObject({
      bounce: { type: 'hard', subtype: 'no_such_mailbox' },
      suppresses: true,
    });
  });
});

describe('a temporary refusal at the expiry of the message', () => {
  it.each([
    [
      'soft mailbox_full',
      "452 4.2.2 The recipient's inbox is out of storage space. https://support.google.com/mail/?p=OverQuotaTemp",
    ],
    ['soft expired', '450 4.2.1 The user you are trying to contact is receiving mail too quickly.'],
    ['soft expired', '450 4.1.1 <ann@example.com>: Recipient address rejected: unverified address'],
    ['soft expired', '450 Requested mail action not taken: mailbox unavailable'],
    ['expired', '450 4.2.0 <ann@example.com>: Recipient address rejected: Greylisted'],
    [
      'expired',
      '421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints',
    ],
    ['expired', '451 4.7.1 greylisted'],
    ['expired', '450 4.1.8 <b@mail.test>: Sender address rejected: Domain not found'],
    ['expired', '451 Temporary local problem - please try later'],
    ['expired', '450 4.4.7 Delivery expired'],
  ])('is %s: %s', (expected, reply) => {
    expect(verdictOf(reply)).toBe(expected);
  });

  it('is retried until it expires', () => {
    const reply = { code: 452, enhanced: '4.2.2', text: 'Mailbox full' };
    const outcome = smtpVerdict({ kind: 'refused', stage: 'rcpt', reply, connectionLost: false });
    expect(outcome).toMatchObject({ kind: 'deferred', expiresAs: { type: 'soft', subtype: 'mailbox_full' } });
  });
});

describe('a refusal that was reported after the hand-over', () => {
  it.each([
    ['hard no_such_mailbox', true, '550 5.1.1 User unknown'],
    ['soft mailbox_full', true, '552 5.2.2 Mailbox full'],
    ['soft expired', true, '450 4.2.1 Mailbox busy'],
    ['soft expired', false, '451 4.4.1 Connection timed out'],
    ['soft blocked', false, '550 5.7.1 Blocked by Spamhaus'],
    ['soft blocked', false, '550 High probability of spam'],
    ['soft other', false, '550 no'],
  ])('is %s, suppresses: %s: %s', (expected, suppresses, reply) => {
    const reported = reportedBounce(refusal(reply, 'report'));
    expect(`${reported.bounce.type} ${reported.bounce.subtype}`).toBe(expected);
    expect(reported.suppresses).toBe(suppresses);
  });
});
