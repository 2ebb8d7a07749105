/** What people read, in VS Code's display language. Every such text of the sources goes through `t`, as a whole sentence or phrase: what is
 * put together of words cannot be translated. Not what is logged, nor what `tandem-dap` says. Knows nothing of VS Code. */

type Value = string | number;
type Translate = (text: string, ...values: Value[]) => string;

let translate: Translate = inEnglish;

/** The text with its `{0}`, `{1}` and so on replaced. */
export function t(text: string, ...values: Value[]): string {
  return translate(text, ...values);
}

/** The translation function; set before any text is shown. */
export function translatedBy(translator: Translate): void {
  translate = translator;
}

/** The text as the sources have it. */
export function inEnglish(text: string, ...values: Value[]): string {
  return text.replace(/\{(\d+)\}/g, (place, at: string) => String(values[Number(at)] ?? place));
}
