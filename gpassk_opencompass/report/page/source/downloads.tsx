// Any view as a file: its numbers as CSV, JSON or LaTeX, its drawing as SVG.

export type Value = string | number | null;

// In percent, with all digits.
export const hundredfold = (value: number | null | undefined): Value => (value == null ? null : 100 * value);

// The numbers of a view.
export interface Sheet {
  title: string;
  columns: string[];
  rows: Value[][];
  notes?: string[];
}

// What a spreadsheet would take for a formula, as in the CSV files of Python.
const FORMULA = /^[=+\-@＝＋－＠\t\r\n]/;

const csvCell = (value: Value): string => {
  if (value === null) return '';
  const text = typeof value === 'string' && FORMULA.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const asCsv = ({ columns, rows }: Sheet): string =>
  [columns, ...rows].map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');

export const asJson = ({ title, columns, rows, notes = [] }: Sheet): string =>
  `${JSON.stringify({ title, columns, rows, notes }, null, 1)}\n`;

const ESCAPES: Record<string, string> = {
  '\\': '\\textbackslash{}', '{': '\\{', '}': '\\}', $: '\\$', '&': '\\&', '%': '\\%', '#': '\\#', _: '\\_',
  '~': '\\textasciitilde{}', '^': '\\textasciicircum{}', '–': '--', '−': '$-$', τ: '$\\tau$', '≥': '$\\ge$', '⌈': '$\\lceil$', '⌉': '$\\rceil$',
};

// A printed number has five digits; all of them are in the CSV and JSON.
const printed = (value: string | number): string =>
  (typeof value === 'number' && !Number.isInteger(value) ? String(Number(value.toPrecision(5))) : String(value));

const latexCell = (value: Value): string =>
  (value === null ? '--' : printed(value).replace(/[\\{}$&%#_~^–−τ≥⌈⌉]/g, (character) => ESCAPES[character]).replace(/\s+/g, ' '));

// A tabular of booktabs, as the tables of Python are.
export function asLatex({ title, columns, rows, notes = [] }: Sheet): string {
  const numeric = (column: number) => rows.length > 0 && rows.every((row) => typeof row[column] !== 'string');
  const line = (row: Value[]) => `${row.map(latexCell).join(' & ')} \\\\`;
  return [
    `% ${title.replace(/\s+/g, ' ')}`, `\\begin{tabular}{${columns.map((_, i) => (numeric(i) ? 'r' : 'l')).join('')}}`, '\\toprule',
    line(columns), '\\midrule', ...rows.map(line), '\\bottomrule', '\\end{tabular}',
    ...notes.map((note) => `\n\\par ${latexCell(note)}`), '',
  ].join('\n');
}

const DRAWN = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'paint-order', 'stroke-dasharray', 'stroke-opacity', 'opacity', 'font-size',
  'font-family', 'font-weight', 'text-anchor'];

// A drawing with its colours in it, so that it is the same without the page.
export function asSvg(drawing: SVGSVGElement): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const originals = [drawing, ...drawing.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of DRAWN) node.setAttribute(name, style.getPropertyValue(name));
    node.removeAttribute('class');
    node.removeAttribute('tabindex');
  });
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  const { width, height } = drawing.viewBox.baseVal;
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  return new XMLSerializer().serializeToString(copy);
}

// Have the browser save a text as a file.
export function save(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = Object.assign(document.createElement('a'), { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// A name of a file that every system takes.
export const fileName = (title: string, ending: string): string =>
  `${title.replace(/[^\p{L}\p{N}._@-]+/gu, '-').replace(/^[-.]+|[-.]+$/g, '').slice(0, 120) || 'view'}.${ending}`;

export function Downloads({ sheet, drawing }: { sheet: () => Sheet; drawing?: () => SVGSVGElement | null }) {
  const kinds: [string, () => void][] = [
    ['CSV', () => put('csv', 'text/csv', asCsv)],
    ['JSON', () => put('json', 'application/json', asJson)],
    ['LaTeX', () => put('tex', 'text/x-tex', asLatex)],
  ];
  const put = (ending: string, type: string, of: (one: Sheet) => string) => {
    const one = sheet();
    save(fileName(one.title, ending), type, of(one));
  };
  const draw = () => {
    const found = drawing?.();
    if (found) save(fileName(sheet().title, 'svg'), 'image/svg+xml', asSvg(found));
  };
  return (
    <details class="menu">
      <summary>Download</summary>
      <div>
        {kinds.map(([name, download]) => <button type="button" onClick={download}>{name}</button>)}
        {drawing && <button type="button" onClick={draw}>SVG</button>}
        <button type="button" onClick={copyLink}>Copy link</button>
      </div>
    </details>
  );
}

async function copyLink(event: MouseEvent): Promise<void> {
  const button = event.currentTarget as HTMLButtonElement;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'The browser forbids it: take it from the address bar';
  }
}
