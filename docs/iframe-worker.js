// A page that is read from disk may not start a worker. There, the search runs in a hidden frame instead.
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement('iframe')
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent('message', { data }))
      this.ready = new Promise((resolve) => {
        const script = frame.contentDocument.createElement('script')
        script.src = url
        script.onload = resolve
        frame.contentDocument.body.append(script)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent('message', { data })))
    }
  }
}
