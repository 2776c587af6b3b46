import type { OptionList } from './command-arguments.ts';

const DIGITS = '0123456789';
const CHECKSUM = ['bctwz', '', 'binary check ignore-missing quiet status strict tag text warn zero'] as const;
const GREP = [
  `abcEFGHhIiLlnoPqRrsTUvwxyZz${DIGITS}`,
  'ABCDdefm',
  'after-context basic-regexp before-context binary binary-files byte-offset color colour context count dereference-recursive devices directories exclude exclude-dir exclude-from extended-regexp file files-with-matches files-without-match fixed-strings ignore-case include initial-tab invert-match label line-buffered line-number line-regexp max-count no-filename no-ignore-case no-messages null null-data only-matching perl-regexp quiet recursive regexp silent text with-filename word-regexp',
] as const;

/**
 * Programs that read files and write to their output only, whatever their options are: name, options without
 * value, options with value, long options. An option that is not in the list still counts as unknown.
 */
const FILE_READERS: readonly (readonly [name: string, short?: string, valued?: string, long?: string])[] = [
  ['arch'],
  ['b2sum', 'bctwz', 'l', `${CHECKSUM[2]} length`],
  ['basename', 'az', 's', 'multiple suffix zero'],
  [
    'cat',
    'AbEensTtuv',
    '',
    'number number-nonblank show-all show-ends show-nonprinting show-tabs squeeze-blank',
  ],
  ['cksum', '', 'a', 'algorithm check'],
  ['cmp', 'bls', 'in', 'bytes ignore-initial print-bytes quiet silent verbose'],
  ['comm', '123iz', '', 'check-order nocheck-order output-delimiter total zero-terminated'],
  [
    'cut',
    'nsz',
    'bcdf',
    'bytes characters complement delimiter fields only-delimited output-delimiter zero-terminated',
  ],
  [
    'df',
    'aHhiklPT',
    'tx',
    'all block-size exclude-type human-readable inodes local output portability print-type si total type',
  ],
  [
    'diff',
    `abBcdeEfinNpqrstTuwyZ${DIGITS}`,
    'CFISUWxX',
    'brief color context exclude ignore-all-space ignore-blank-lines ignore-case ignore-space-change ignore-tab-expansion minimal new-file no-dereference recursive report-identical-files show-c-function side-by-side strip-trailing-cr suppress-common-lines text unified width',
  ],
  ['dirname', 'z', '', 'zero'],
  [
    'du',
    '0abcDHhklmPLSsx',
    'Btd',
    'all apparent-size block-size bytes count-links dereference exclude human-readable max-depth null one-file-system separate-dirs si summarize threshold time total',
  ],
  ['egrep', ...GREP],
  ['expand', 'i', 't', 'initial tabs'],
  ['expr', DIGITS],
  ['factor'],
  ['fgrep', ...GREP],
  ['fold', 'bcs', 'w', 'bytes characters spaces width'],
  ['grep', ...GREP],
  ['groups'],
  ['head', `qvz${DIGITS}`, 'cn', 'bytes lines quiet silent verbose zero-terminated'],
  ['hexdump', 'bcCdovx', 'ens', 'canonical length no-squeezing skip'],
  ['id', 'agGnruzZ', '', 'group groups name real user zero'],
  ['join', 'iz', 'aejotv12', 'check-order header ignore-case nocheck-order zero-terminated'],
  [
    'ls',
    'AaBbCcDdFfGgHhiklLmNnopQqRrSstUuvXxZ1',
    'ITw',
    'all almost-all author block-size classify color dereference directory escape file-type format full-time group-directories-first hide human-readable hyperlink ignore indicator-style inode kibibytes literal no-group numeric-uid-gid quote-name quoting-style recursive reverse show-control-chars si size sort time time-style width zero',
  ],
  ['md5sum', ...CHECKSUM],
  [
    'nl',
    'p',
    'bdfhilnsvw',
    'body-numbering number-format number-separator number-width starting-line-number',
  ],
  ['nproc', '', '', 'all ignore'],
  [
    'numfmt',
    'z',
    'd',
    'delimiter field format from from-unit grouping header invalid padding round suffix to to-unit zero-terminated',
  ],
  [
    'od',
    'abcdfilosvx',
    'AjNStw',
    'address-radix format output-duplicates read-bytes skip-bytes strings width',
  ],
  ['paste', 'sz', 'd', 'delimiters serial zero-terminated'],
  ['pwd', 'LP', '', 'logical physical'],
  [
    'readlink',
    'efmnqsvz',
    '',
    'canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero',
  ],
  [
    'realpath',
    'eLmPqsz',
    '',
    'canonicalize-existing canonicalize-missing logical no-symlinks physical quiet relative-base relative-to strip zero',
  ],
  ['rev'],
  ['seq', `w${DIGITS}`, 'fs', 'equal-width format separator'],
  ['sha1sum', ...CHECKSUM],
  ['sha256sum', ...CHECKSUM],
  ['sha512sum', ...CHECKSUM],
  ['stat', 'fLtx', 'c', 'cached dereference file-system format printf terse'],
  ['sum', 'rs'],
  ['tac', 'br', 's', 'before regex separator'],
  [
    'tail',
    `fFqvz${DIGITS}`,
    'cns',
    'bytes follow lines max-unchanged-stats pid quiet retry silent sleep-interval verbose zero-terminated',
  ],
  ['tr', 'cCdst', '', 'complement delete squeeze-repeats truncate-set1'],
  ['tsort'],
  ['tty', 's'],
  ['type', 'afpPt'],
  ['uname', 'asnrvmpio'],
  ['unexpand', 'a', 't', 'all first-only tabs'],
  ['uptime', 'ps'],
  ['wc', 'clmLw', '', 'bytes chars lines max-line-length total words'],
  ['which', 'as', '', 'all'],
  ['whoami'],
];

/** Options of the programs that only read files. */
export const FILE_READER_OPTIONS: ReadonlyMap<string, OptionList> = new Map(
  FILE_READERS.map(([name, short = '', valued = '', long = '']) => [
    name,
    { short, valued, long: `${long} help version`, takesAnyOption: true },
  ]),
);
