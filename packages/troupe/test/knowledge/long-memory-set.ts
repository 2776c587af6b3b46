// A set of 100 questions for long-term memories, in the shape of the public ones: five people tell things over 40
// sessions, change some, take some back, and are asked much later; also about what only somebody else has told.

/** One remark in a session, and its meaning for an extractor. */
export interface Remark {
  readonly said: string;
  /** The new statement; none if the remark takes one back. */
  readonly statement?: string | undefined;
  /** The old statement, replaced or taken back. */
  readonly replaces?: string | undefined;
}

export interface MemoryQuestion {
  readonly kind: 'told long ago' | 'changed' | 'taken back' | 'never told';
  readonly question: string;
  /** Text that must be found; none if nothing is known. */
  readonly expected?: string | undefined;
  /** Forbidden texts: older versions, statements taken back, statements of others. */
  readonly wrong: readonly string[];
}

export interface Person {
  readonly name: string;
  /** Remarks of each session. */
  readonly sessions: readonly (readonly Remark[])[];
  readonly questions: readonly MemoryQuestion[];
}

interface Topic {
  readonly statement: (value: string) => string;
  readonly said: (value: string) => string;
  readonly question: string;
  /** One value for each person; for changing topics, the old one and the new one. */
  readonly values: readonly string[];
}

const NAMES = ['Ann', 'Bo', 'Cleo', 'Dev', 'Elif'];

const topic = (statement: string, said: string, question: string, values: string): Topic => ({
  statement: (value) => statement.replace('*', value),
  said: (value) => said.replace('*', value),
  question,
  values: values.split(','),
});

const STABLE: readonly Topic[] = [
  topic(
    'The user has a dog called *.',
    'My dog * ate my slippers again.',
    "What is my dog's name?",
    'Rufus,Pixel,Bruno,Laika,Nori',
  ),
  topic(
    'The user was born in *.',
    'I was born in *, by the way.',
    'In which town was I born?',
    'Bergen,Graz,Lyon,Pune,Izmir',
  ),
  topic(
    'The user works as a *.',
    'At work as a * one is never bored.',
    'What do I work as?',
    'baker,nurse,pilot,welder,notary',
  ),
  topic(
    'The user is allergic to *.',
    'No dessert for me: I am allergic to *.',
    'Which food am I allergic to?',
    'walnuts,shrimp,celery,sesame,lupin',
  ),
  topic(
    'The favourite band of the user is *.',
    'My favourite band is still *.',
    'What is my favourite band?',
    'Kraftwerk,Bikini Kill,Orbital,Mogwai,Baba Zula',
  ),
  topic(
    'The user drives a *.',
    'I drive a *, and it rattles.',
    'What car do I drive?',
    'Saab,Panda,Twingo,Swift,Duster',
  ),
  topic(
    'The sister of the user is called *.',
    'My sister * visits on Sunday.',
    "What is my sister's name?",
    'Greta,Maja,Odile,Asha,Defne',
  ),
  topic(
    'The user plays the *.',
    'I play the * in a small orchestra.',
    'Which instrument do I play?',
    'oboe,viola,tuba,sitar,harp',
  ),
];

const CHANGING: readonly Topic[] = [
  topic(
    'The user lives in *.',
    'I live in * now.',
    'Which city do I live in?',
    'Rome>Oslo,Turin>Ghent,Nantes>Porto,Delhi>Leeds,Ankara>Riga',
  ),
  topic(
    'The user has the phone *.',
    'My phone is a * now.',
    'Which phone do I have?',
    'Nokia>Pixel 9,Fairphone>Xperia,iPhone>Nothing,Moto>Galaxy,Honor>Zenfone',
  ),
  topic(
    'The user swims on *.',
    'I go to swim on * now.',
    'On which day do I swim?',
    'Mondays>Fridays,Tuesdays>Sundays,Thursdays>Mondays,Fridays>Tuesdays,Sundays>Wednesdays',
  ),
  topic(
    'The boss of the user is *.',
    'My boss is * now.',
    'Who is my boss?',
    'Meyer>Okafor,Lindt>Suarez,Petit>Novak,Rao>Hughes,Kaya>Berzins',
  ),
  topic(
    'The user meets the doctor in *.',
    'My appointment with the doctor is in * now.',
    'In which month do I meet the doctor?',
    'March>April,May>June,July>August,September>October,January>February',
  ),
];

const TAKEN_BACK: readonly Topic[] = [
  topic(
    'The user wants to buy a boat called *.',
    'I want to buy a boat, the *.',
    'Which boat do I want to buy?',
    'Seagull,Triton,Nixe,Ganga,Yakamoz',
  ),
  topic(
    'The nickname of the user is *.',
    'Call me by my nickname, *.',
    'What is my nickname?',
    'Sparrow,Moose,Comet,Tiger,Pasha',
  ),
  topic(
    'The user has a cabin near *.',
    'I have a cabin near *.',
    'Where is my cabin?',
    'Voss,Murau,Annecy,Manali,Bolu',
  ),
];

/** Told by some people only, and asked by all. */
const FOREIGN: readonly Topic[] = [
  topic(
    'The shoe size of the user is *.',
    'My shoe size is *.',
    'What is my shoe size?',
    'size 36,size 45,size 38,size 42,size 40',
  ),
  topic('The user collects *.', 'I collect *.', 'What do I collect?', 'stamps,maps,teapots,kites,coins'),
  topic(
    'The daughter of the user is called *.',
    'My daughter is called *.',
    "What is my daughter's name?",
    'Runa,Vera,Manon,Isha,Lale',
  ),
  topic('The user studied *.', 'I studied *.', 'What did I study?', 'botany,law,optics,Sanskrit,geology'),
];

const SMALL_TALK =
  'weather,traffic,football,a film,the garden,a recipe,the news,a dream,a neighbour,the train'.split(',');
const SESSIONS = 40;

/** The five people with 20 questions each. */
export function longMemorySet(): readonly Person[] {
  return NAMES.map((name, who) => {
    const sessions: Remark[][] = Array.from({ length: SESSIONS }, (_, day) => {
      const thing = SMALL_TALK[(day + who) % SMALL_TALK.length] ?? '';
      const statement = `The user talked about ${thing} in week ${day + 1}.`;
      return [{ said: `Let me tell you about ${thing}.`, statement }, { said: 'Thanks, bye.' }];
    });
    const tell = (session: number, remark: Remark): void => void sessions[session % SESSIONS]?.push(remark);
    const questions: MemoryQuestion[] = [];
    for (const [at, { said, statement, question, values }] of STABLE.entries()) {
      const value = values[who] ?? '';
      tell(at, { said: said(value), statement: statement(value) });
      questions.push({ kind: 'told long ago', question, expected: value, wrong: [] });
    }
    for (const [at, { said, statement, question, values }] of CHANGING.entries()) {
      const [before = '', after = ''] = values[who]?.split('>') ?? [];
      tell(at + 4, { said: said(before).replace(' now', ''), statement: statement(before) });
      tell(at + 24, { said: said(after), statement: statement(after), replaces: statement(before) });
      questions.push({ kind: 'changed', question, expected: after, wrong: [statement(before)] });
    }
    for (const [at, { said, statement, question, values }] of TAKEN_BACK.entries()) {
      const value = values[who] ?? '';
      tell(at + 10, { said: said(value), statement: statement(value) });
      tell(at + 32, { said: `Forget what I said: ${said(value)}`, replaces: statement(value) });
      questions.push({ kind: 'taken back', question, wrong: [value] });
    }
    for (const [at, { said, statement, question, values }] of FOREIGN.entries()) {
      const [own, others] = [values[who] ?? '', values[(who + 1) % NAMES.length] ?? ''];
      const isOwn = (at + who) % 2 === 0;
      if (isOwn) tell(at + 14, { said: said(own), statement: statement(own) });
      questions.push({
        kind: isOwn ? 'told long ago' : 'never told',
        question,
        ...(isOwn && { expected: own }),
        wrong: [others],
      });
    }
    return { name, sessions, questions };
  });
}
