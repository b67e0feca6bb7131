// What a reader with a keyboard, a screen reader or weak eyes needs of a page; returns what is wrong.
(() => {
  const wrong = [];
  const visible = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
  const said = (e) => e.outerHTML.slice(0, 120);

  // Contrast (WCAG 2.2, 1.4.3): 4.5 : 1 for text, 3 : 1 for large text.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return Array.from(canvas.getImageData(0, 0, 1, 1).data);
  };
  const light = ([r, g, b]) => {
    const part = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const behind = (e) => {
    for (let up = e; up; up = up.parentElement) {
      const colour = rgba(getComputedStyle(up).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  for (const e of document.querySelectorAll("body *")) {
    const own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !visible(e) || ["SCRIPT", "STYLE", "title", "desc"].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const drawn = e instanceof SVGElement;
    // The text of a node lies on the node's own colour.
    const box = drawn && e.previousElementSibling && e.previousElementSibling.matches("rect")
      ? rgba(getComputedStyle(e.previousElementSibling).fill) : behind(e);
    const ratio = contrast(rgba(drawn ? style.fill : style.color), box);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)}: ${said(e)}`);
  }
  // Lines, marks and borders of charts (1.4.11): 3 : 1.
  for (const e of document.querySelectorAll("svg.chart .line, svg.chart .axis, .edge, .node")) {
    const ratio = contrast(rgba(getComputedStyle(e).stroke), behind(e.closest("svg").parentElement));
    if (ratio < 3) wrong.push(`line ${ratio.toFixed(2)}: ${said(e)}`);
  }
  // Names.
  for (const e of document.querySelectorAll("a, button, summary"))
    if (visible(e) && !e.textContent.trim()) wrong.push(`no name: ${said(e)}`);
  for (const e of document.querySelectorAll("section, nav, [role=region]"))
    if (!e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby")) wrong.push(`no name: ${said(e)}`);
  // What scrolls can be reached with the keyboard.
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    const scrolls = ["auto", "scroll"].includes(style.overflowX) || ["auto", "scroll"].includes(style.overflowY);
    const needed = e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1;
    if (scrolls && needed && visible(e) && e.tabIndex < 0) wrong.push(`unreachable: ${said(e)}`);
  }
  // Structure.
  for (const name of ["main", "header", "footer", "h1"])
    if (document.querySelectorAll(name).length !== 1) wrong.push(`not one ${name}`);
  const levels = Array.from(document.querySelectorAll("h1,h2,h3,h4"), (h) => Number(h.tagName[1]));
  levels.reduce((a, b) => { if (b > a + 1) wrong.push(`heading ${a} to ${b}`); return b; }, 0);
  for (const e of document.querySelectorAll("ul, ol"))
    for (const child of e.children) if (child.tagName !== "LI") wrong.push(`in a list: ${said(child)}`);
  return wrong;
})()
