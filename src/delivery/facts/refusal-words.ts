/**
 * Words in replies and reports, which decide if a code says nothing. They are matched against a text in lower case.
 * No pattern has a repetition inside a repetition, so the time to search is linear.
 *
 * Beside the English of all mail servers, each list has the languages in which large providers and appliances write:
 * Orange and La Poste (French), T-Online, GMX and appliances of German universities (German), Terra and Telefónica
 * (Spanish), Libero, Aruba and TIM (Italian), UOL, Locaweb and Sapo (Portuguese), KPN (Dutch), Onet and WP (Polish),
 * Seznam (Czech), Mail.ru and Yandex (Russian), QQ and NetEase (Chinese), docomo, au and SoftBank (Japanese).
 */

/** One pattern out of several, which may be many. */
const anyOf = (...patterns: readonly RegExp[]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join('|'), 'u');

/** Why a server refuses this sender or this content, independent of the recipient. */
const policy = anyOf(
  /spam|polic(?:y|ies)|block|(?:black|deny|gr[ea]y)[ -]?list|\b(?:dns|uri|s|p)?[rb]bl\b|reputation|\bspf\b|\bdkim\b|\bdmarc\b/u,
  /relaying|(?:not|to) relay|relay (?:not|access|denied|attempt)|junk|virus|malware|phish|\bban(?:ned)?\b|prohibit/u,
  /not (?:allowed|permitted|authori[sz]ed)|authenticat|access denied|(?<!not )listed (?:in|at|by|on)|reverse dns|\bptr\b/u,
  /sender|unsolicited|rate limit|too many|content reject|\bfrom:|valid from\b/u,
  // The relay's own account, its limits and its connection; a part of the message.
  /\byour (?:account|ip\b|server|host|domain|client|network)|\bsending\b|\boutgoing\b|\boutbound\b|account you use/u,
  /\b(?:hourly|daily|monthly|connection|message) (?:\w{1,20} )?limit|\btls\b|\bhelo\b|\behlo\b|certificate|\bheader|attachment/u,
  // German, French, Spanish, Italian, Portuguese, Dutch, Polish, Russian, Chinese, Japanese.
  /richtlinie|unerwünscht|absender|indésirable|expéditeur|remitente|no deseado|mittente|indesiderat|remetente|afzender/u,
  /nadawc|спам|отправител|垃圾|发件人|寄件者|迷惑|送信者/u,
);

/** The mailbox has no room. */
const full = anyOf(
  /over ?-?quota|quota (?:is )?(?:exceeded|full)|exceed\w{0,3} (?:the |his |her |its |their |storage |disk |mailbox )?(?:quota|storage)/u,
  /(?:mailbox|inbox|account)(?: is)?(?: almost)? full|mailbox (?:size )?(?:limit )?exceeded|out of storage/u,
  /storage (?:is )?(?:full|limit)|exceeded storage allocation|not enough (?:disk )?space|exceed\w{0,3} mailbox size/u,
  /mailbox for [^ ]{1,255} is full|mailbox exceeds allowed size|mail quota|mailbox size limit|full mailbox|mail ?folder is full/u,
  /quota usage exceeded|(?:diskspace|disk) quota|not (?:have )?enough (?:storage |disk )?space|recipient's mailbox exceeded/u,
  /postfach (?:ist )?(?:voll|überfüllt)|(?:boîte|boite)(?: aux lettres)?(?: est)? pleine|quota (?:dépassé|depasse)/u,
  /(?:buz[oó]n|mailbox|casilla) (?:est[aá] )?llen[oa]|casilla de (?:mail|correo) agotad[oa]|cuota excedida|casella (?:è )?piena|caixa (?:postal )?(?:est[aá] )?cheia/u,
  /mailbox (?:is )?vol\b|skrzynka (?:jest )?(?:pełna|przepełniona)|schránka (?:je )?plná|ящик (?:переполнен|полон)/u,
  /(?:邮箱|郵箱|空间|空間|容量)(?:已|不)(?:满|滿|足)|容量.{0,12}(?:超え|超過|いっぱい)|メールボックス.{0,12}(?:いっぱい|満杯)/u,
);

/** The message is larger than the server takes. */
const size = anyOf(
  /too (?:large|big)\b|(?:message|mail|line|data|content)[^.]{0,40} too long|message size|(?:size|length) (?:exceeds|limit)/u,
  /exceeds (?:the )?(?:maximum|fixed|size|limit)|message length|nachricht (?:ist )?zu groß|message trop (?:gros|volumineux)/u,
  /mensaje demasiado grande|messaggio troppo grande|mensagem (?:é )?muito grande|слишком больш|邮件过大|サイズ.{0,12}(?:超え|超過)/u,
);

/** The mailbox exists no more, or is switched off. */
const disabled = anyOf(
  /(?:account|mailbox|user|address|recipient)(?: has been| is| was)? (?:temporarily )?(?:disabled|inactive|suspended|deactivated|discontinued|closed|terminated)/u,
  /(?:disabled|inactive|suspended) (?:account|mailbox|user|recipient)|no longer (?:active|available|valid|in use|accept)/u,
  /tried to reach is (?:inactive|disabled)|user is terminated|mailbox not active|mailbox is (?:frozen|locked)|due to inactivity/u,
  /(?:konto|postfach|benutzer)(?: ist| wurde)? (?:deaktiviert|gesperrt|stillgelegt|gelöscht)|bo[iî]te[^.]{0,40}archivee|compte (?:bloqué|désactivé|suspendu|fermé)/u,
  /cuenta (?:deshabilitada|desactivada|suspendida|inactiva)|casilla ha expirado|(?:casella|utente|account) (?:disabilitat|disattivat|sospes|scadut)/u,
  /conta (?:desativada|suspensa|inativa|cancelada)|(?:ящик|аккаунт|пользователь) (?:заблокирован|отключ|удал)|(?:帐号|账号|用户)已(?:停用|禁用|冻结)/u,
);

/** There is no such mailbox. */
const unknown = anyOf(
  /no such (?:user|mailbox|recipient|address|person|account|local)|(?:user|recipient|mailbox|address|addressee|account|alias|userid)(?: is| was)? (?:unknown|invalid|not (?:found|known|valid))/u,
  /(?:unknown|invalid|nonexistent|non-existent) (?:user|recipient|mailbox|address|account|local|virtual|or )/u,
  /(?:does not|doesn't|do not|not) exist|no mailbox|no account|mailbox (?:is )?(?:unavailable|not available)|unrouteable address/u,
  /does(?: not|n't) have an? [^ ]{1,80} account|not a (?:valid|known) (?:user|mailbox|recipient|address)|not our (?:user|customer)/u,
  /recipient name is not recognized|invalid final delivery userid|not (?:listed )?in (?:[^ .]{1,40} ){0,3}(?:directory|address book)|\brecip(?:ient)?notfound/u,
  /(?:empfänger|benutzer|postfach|adresse|konto)(?: ist)? (?:unbekannt|nicht (?:bekannt|vorhanden|gefunden))|unbekannte[rs]? (?:benutzer|empfänger|adresse)|existiert nicht/u,
  /destinataire[s]? (?:inconnu|invalide)|utilisateur inconnu|adresse[^.]{0,40} (?:invalide|inconnue)|n['’ ]existe pas/u,
  /(?:usuario|destinatario|buz[oó]n|cuenta|direcci[oó]n) (?:desconocid|inexistente|no (?:existe|encontrad|v[aá]lid))/u,
  /(?:utente|destinatario|casella|indirizzo) (?:sconosciut|inesistente|non (?:esiste|trovat|valid))/u,
  /(?:usu[aá]rio|destinat[aá]rio|caixa|conta|endere[cç]o) (?:desconhecid|inexistente|inv[aá]lid|n[aã]o (?:existe|encontrad))/u,
  /(?:gebruiker|ontvanger|mailbox|adres) (?:is )?(?:onbekend|niet gevonden)|bestaat niet|nie istnieje|nieznany (?:użytkownik|odbiorca|adres)|neexistuje|neznámý (?:uživatel|příjemce)/u,
  /(?:пользовател|получател|ящик|адрес|аккаунт)[^.]{0,40} (?:не найден|не существует|неизвест|отсутствует)|нет такого (?:пользователя|ящика)/u,
  /(?:收件人|收件者|用户|用戶|邮箱|郵箱|帐号|账号)(?:地址)?(?:不存在|未找到|未知)|(?:宛先|受信者|ユーザ|アドレス).{0,16}(?:存在しません|見つかりません|不明)/u,
);

/** There is no such domain. */
const noDomain =
  /(?:domain|host)(?: name)?(?: [^ ]{1,255})? (?:is )?(?:unknown|not found|invalid|does not exist)|no such (?:domain|host)|unknown (?:domain|host)|unrouteable mail domain|invalid domain|domain is not reachable|no mx record|name or service not known|non-existent hosts|nxdomain/u;

export const words = {
  policy,
  full,
  size,
  disabled,
  unknown,
  noDomain,
  nullMx: /null ?mx/u,
  rate: /\brate\b|too (?:many|quickly|fast)/u,
  /** Microsoft's reply for an address that is not in the recipient's directory. */
  accessDenied: /recipient address(?:es)? rejected ?: ?access denied/u,
} as const;
